#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import FailureArtifactsSystem

extension CaptureConfiguration {
    /// Reads environment variables.
    ///
    /// - Parameters:
    ///   - variables: The environment. An empty value counts as none.
    ///   - workingDirectory: What a relative directory is relative to.
    /// - Returns: The configuration, and a full sentence for each value that could not be read.
    package static func parse(
        _ variables: [String: String], workingDirectory: String
    ) -> (configuration: CaptureConfiguration, warnings: [String]) {
        var reader = EnvironmentReader(variables: variables)
        let mode = reader.value(
            of: "FAILURE_ARTIFACTS", default: Mode.firstFailure,
            or: "one of first-failure, every-failure, off",
            described: \.rawValue
        ) { Mode(rawValue: $0) }
        let directory = reader.value(
            of: "FAILURE_ARTIFACTS_DIR", default: "failure-artifacts", or: "a path", described: \.self
        ) { $0 }
        let bytes = "a number of bytes"
        let configuration = CaptureConfiguration(
            mode: mode,
            directory: URL(
                filePath: Path.join(workingDirectory, directory), directoryHint: .isDirectory),
            maximumStoreBytes: reader.number(
                of: "FAILURE_ARTIFACTS_MAX_STORE_BYTES", default: 1 << 30, or: bytes),
            maximumTotalBytes: reader.number(
                of: "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES", default: 4 << 30, or: bytes),
            maximumBundles: reader.number(
                of: "FAILURE_ARTIFACTS_MAX_BUNDLES", default: 200, or: "a number"),
            discoversStores: reader.value(
                of: "FAILURE_ARTIFACTS_DISCOVERY", default: true, or: "on or off",
                described: { $0 ? "on" : "off" }
            ) { ["on": true, "off": false][$0] })
        return (configuration, reader.warnings)
    }

    private init(
        mode: Mode, directory: URL, maximumStoreBytes: UInt64, maximumTotalBytes: UInt64,
        maximumBundles: Int, discoversStores: Bool
    ) {
        self.mode = mode
        self.directory = directory
        self.maximumStoreBytes = maximumStoreBytes
        self.maximumTotalBytes = maximumTotalBytes
        self.maximumBundles = maximumBundles
        self.discoversStores = discoversStores
    }
}

/// Reads variables and collects what is wrong with them.
private struct EnvironmentReader {
    let variables: [String: String]
    var warnings: [String] = []

    mutating func value<Value>(
        of name: String, default fallback: Value, or expected: String, described: (Value) -> String,
        _ parse: (String) -> Value?
    ) -> Value {
        guard let text = variables[name], !text.isEmpty else { return fallback }
        if let value = parse(text) { return value }
        warnings.append(
            "\(name) is '\(text)', which is not \(expected); '\(described(fallback))' is used instead.")
        return fallback
    }

    mutating func number<Number: FixedWidthInteger>(
        of name: String, default fallback: Number, or expected: String
    ) -> Number {
        value(of: name, default: fallback, or: expected, described: { "\($0)" }) { text in
            Number(text).flatMap { $0 >= 0 ? $0 : nil }
        }
    }
}
