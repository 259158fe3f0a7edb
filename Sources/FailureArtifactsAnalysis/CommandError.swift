internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

package struct CommandError: Error, Equatable, Sendable, CustomStringConvertible {
    package let exitCode: ExitCode
    package let description: String

    package init(_ exitCode: ExitCode, _ description: String) {
        self.exitCode = exitCode
        self.description = description
    }

    package init(_ error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as BundleError:
            self.init(error.exitCode, error.description + (error.isOverLimit ? Self.hint : ""))
        case let error as ZipError:
            self.init(error.exitCode, error.sentence + (error.isOverLimit ? Self.hint : ""))
        case let error as RedactionFileError:
            let code = error.systemError.map { $0.isNotFound ? ExitCode.noInput : .inputOutput }
            self.init(code ?? .badData, error.description)
        case let error as SystemError: self.init(.inputOutput, error.sentence)
        case let error as SQLiteError:
            self.init(
                error.isBusy || error.isOverLimit ? .inputOutput : .badData,
                Self.sentence("\(error)") + (error.isOverLimit ? Self.hint : ""))
        default: self.init(.inputOutput, Self.sentence("\(error)"))
        }
    }

    package static let limitsHint =
        "If you know where it comes from, '--no-limits' lifts the limits."
    private static let hint = " " + limitsHint

    /// Turns a clause into a sentence with a capital letter and a full stop.
    package static func sentence(_ clause: String) -> String {
        let text = clause.prefix(1).uppercased() + clause.dropFirst()
        return text.hasSuffix(".") ? text : text + "."
    }
}

extension BundleError {
    var exitCode: ExitCode {
        switch reason {
        case .notFound, .noMatch, .noBundles, .noStores, .noSuchStore, .storeNotCaptured, .noHistory,
            .noSuchCommit, .sharedEntry:
            .noInput
        case .ambiguous: .usage
        case .noMetadata, .badMetadata, .newerVersion, .missingEntry, .statements, .badHistory: .badData
        case .archive(let error): error.exitCode
        case .system: .inputOutput
        }
    }
}

extension ZipError {
    var exitCode: ExitCode {
        switch reason {
        case .system(let error): error.isNotFound && entry == nil ? .noInput : .inputOutput
        default: .badData
        }
    }
}

extension ZipError {
    /// True if the archive exceeds a limit but is otherwise valid.
    var isOverLimit: Bool {
        if case .overLimit = reason { true } else { false }
    }
}

extension BundleError {
    var isOverLimit: Bool {
        if case .archive(let error) = reason { error.isOverLimit } else { false }
    }
}

extension SQLiteError {
    /// True if a time, size or memory limit was exceeded.
    package var isOverLimit: Bool { isInterrupted || isTooMuch }
}
