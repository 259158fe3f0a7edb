internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension Console {
    /// Returns the absolute path of the redaction file to use.
    ///
    /// Nil if neither is set.
    ///
    /// - `given`: the path from the command line; nil if the option wasn't given.
    func redactionFile(_ given: String?) -> String? {
        let file = given ?? environment[RedactionRules.variable, default: ""]
        return given == nil && file.isEmpty ? nil : Path.join(Path.currentDirectory, file)
    }

    /// The users who may read bundles, and the pages with their content.
    var bundleReaders: BundleReaders {
        var reader = EnvironmentReader(environment)
        return BundleReaders(&reader)
    }

    /// The directory of invariants that the environment names; nil for none.
    var invariantsDirectory: String? {
        environment[Invariant.variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a directory of invariants.
    ///
    /// - `given`: the path from the command line; nil if the option wasn't given.
    func invariants(in given: String?) throws -> [Invariant] {
        if let given {
            let invariants: [Invariant]
            do {
                invariants = try Invariant.all(inDirectory: given)
            } catch {
                throw CommandError(
                    error.isNotFound ? .noInput : .inputOutput,
                    "The invariants in '\(given)' cannot be read: \(error.reason). Give a directory of SQL files."
                )
            }
            if invariants.isEmpty {
                try warn("'\(given)' has no .sql files, so no invariants are checked.")
            }
            return invariants
        }
        guard let path = invariantsDirectory else { return [] }
        do {
            return try Invariant.all(inDirectory: path)
        } catch {
            try warn(
                "\(Invariant.variable) is '\(path)', which cannot be read: \(error.reason). No invariants are checked."
            )
            return []
        }
    }
}
