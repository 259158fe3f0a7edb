internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

extension Console {
    /// Reads what results are told from, of all bundles that `paths` stand for: those of failures.
    ///
    /// - Parameter paths: Bundles, directories, zips of bundles.
    /// - Returns: The bundles by the time of their failures; and the first failure's code, else
    ///   ``ExitCode/done``.
    /// - Throws: Failures to write.
    func resultBundles(at paths: [String]) throws -> (bundles: [ResultBundle], code: ExitCode) {
        try withScratchDirectory { scratch in
            var bundles: [ResultBundle] = []
            let code = try readBundles(at: paths, scratch: scratch) {
                location, archive, _ -> ResultBundle? in
                let metadata = try BundleReader(location, archive: archive).metadata
                return metadata.outcome == .passed
                    ? nil : ResultBundle(metadata, path: location.description)
            } _: {
                if let bundle = $0 { bundles.append(bundle) }
            }
            return (bundles.sorted { ($0.at, $0.path) < ($1.at, $1.path) }, code)
        }
    }
}
