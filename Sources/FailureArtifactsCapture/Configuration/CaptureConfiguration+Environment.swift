#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension CaptureConfiguration {
    /// Reads a configuration from environment variables, and a full sentence for each value that could not be read.
    ///
    /// An empty value counts as not set. Relative paths refer to the working directory.
    package static func parse(
        _ variables: [String: String], workingDirectory: String
    ) -> (configuration: CaptureConfiguration, warnings: [String]) {
        var reader = EnvironmentReader(variables)
        let mode = reader.value(
            of: "FAILURE_ARTIFACTS", default: Mode.firstFailure,
            or: "one of first-failure, every-failure, off",
            described: \.rawValue
        ) { Mode(rawValue: $0) }
        let directory = reader.value(
            of: "FAILURE_ARTIFACTS_DIR", default: "failure-artifacts", or: "a path", described: \.self
        ) { $0 }
        let limits = DirectoryLimits(&reader)
        var configuration = CaptureConfiguration(
            mode: mode,
            directory: URL(
                filePath: Path.join(workingDirectory, directory), directoryHint: .isDirectory),
            limits: limits,
            maximumStatements: reader.number(
                of: "FAILURE_ARTIFACTS_STATEMENTS", default: 1000, or: "a number"),
            discoversStores: reader.isOn("FAILURE_ARTIFACTS_DISCOVERY", default: true))
        if !reader.isOn("FAILURE_ARTIFACTS_HISTORY", default: true) {
            configuration.maximumHistoryBytes = 0
        }
        configuration.recordsBoundValues = reader.isOn("FAILURE_ARTIFACTS_VALUES", default: true)
        configuration.recordsSourceLines = reader.isOn(
            "FAILURE_ARTIFACTS_SOURCE_LINES", default: true)
        configuration.capturesPassingTests = reader.value(
            of: "FAILURE_ARTIFACTS_PASSING", default: .never, or: "one of never, retry, always",
            described: \.rawValue
        ) { PassingCapture(rawValue: $0) }
        configuration.sqlitePrefixes = reader.value(
            of: "FAILURE_ARTIFACTS_SQLITE_PREFIXES", default: [],
            or: "prefixes of names in C, separated by commas",
            described: { $0.isEmpty ? "none" : $0.joined(separator: ",") }
        ) { text in
            let prefixes = text.split(separator: ",").map(String.init)
            let isValid = prefixes.allSatisfy {
                $0.allSatisfy { $0 == "_" || ($0.isASCII && ($0.isLetter || $0.isNumber)) }
            }
            return isValid ? prefixes : nil
        }
        configuration.readers = Readers(BundleReaders(&reader))
        configuration.invariants = reader.value(
            of: "FAILURE_ARTIFACTS_INVARIANTS", default: nil,
            or: "a directory of SQL files that can be read",
            described: { $0?.path(percentEncoded: false) ?? "none" }
        ) { text in
            let path = Path.join(workingDirectory, text)
            guard (try? FileSystem.contents(ofDirectory: path)) != nil else { return nil }
            return URL(filePath: path, directoryHint: .isDirectory)
        }
        guard let file = variables[RedactionRules.variable], !file.isEmpty else {
            return (configuration, reader.warnings)
        }
        do {
            configuration.setRedactions(try RedactionRules(file: Path.join(workingDirectory, file)))
            return (configuration, reader.warnings)
        } catch {
            // The content to leave out is unknown, so all content is left out.
            configuration.redactions = [.leaveOutContent]
            return (
                configuration,
                reader.warnings + [
                    "\(RedactionRules.variable) is '\(file)'. \(error) Of stores, statements and attachments "
                        + "nothing is kept."
                ]
            )
        }
    }

    private init(
        mode: Mode, directory: URL, limits: DirectoryLimits, maximumStatements: Int,
        discoversStores: Bool
    ) {
        self.mode = mode
        self.directory = directory
        maximumStoreBytes = limits.storeBytes
        let ordinary = DirectoryLimits.ordinaryBundleBytes(forStoresOf: limits.storeBytes)
        maximumBundleBytes = limits.bundleBytes == ordinary ? nil : limits.bundleBytes
        maximumTotalBytes = limits.totalBytes
        maximumBundles = limits.bundles
        minimumFreeBytes = limits.freeBytes
        removesOldestBundles = limits.removesOldest
        self.maximumStatements = maximumStatements
        self.discoversStores = discoversStores
    }

    /// Returns a directory of bundles with the configured readers.
    func artifactsDirectory(at path: String) -> ArtifactsDirectory {
        ArtifactsDirectory(
            path: path, readers: BundleReaders(rawValue: readers.rawValue) ?? .owner)
    }

    /// The limits of the artifacts directory.
    var limits: DirectoryLimits {
        DirectoryLimits(
            storeBytes: maximumStoreBytes,
            bundleBytes: maximumBundleBytes
                ?? DirectoryLimits.ordinaryBundleBytes(forStoresOf: maximumStoreBytes),
            totalBytes: maximumTotalBytes, bundles: maximumBundles, freeBytes: minimumFreeBytes,
            removesOldest: removesOldestBundles)
    }
}

extension CaptureConfiguration.Readers {
    fileprivate init(_ readers: BundleReaders) {
        switch readers {
        case .owner: self = .owner
        case .group: self = .group
        case .everyone: self = .everyone
        }
    }
}
