internal import FailureArtifactsBundle
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

extension Console {
    /// Reads something small from all bundles that `paths` stand for, on all cores.
    ///
    /// What is wrong with one path or bundle is reported, and the others are read all the same.
    ///
    /// - Parameters:
    ///   - paths: Bundles, directories, zips of bundles.
    ///   - scratch: A directory for what is inside other zips.
    ///   - read: Called for each bundle, with its size in bytes, on any thread.
    ///   - body: Gets what was read, in the order of the paths and names.
    /// - Returns: The first failure's code; else ``ExitCode/done``.
    /// - Throws: Failures to write.
    func readBundles<Value: Sendable>(
        at paths: [String], scratch: String,
        _ read: @escaping @Sendable (BundleLocation, ZipArchive, UInt64) throws -> Value,
        _ body: (Value) throws -> Void
    ) throws -> ExitCode {
        var code = ExitCode.done
        func fail(_ error: any Error) {
            let report = CommandError(error)
            self.report(report)
            if code == .done { code = report.exitCode }
        }
        for path in paths {
            let (candidates, isDirectory): ([BundleLocation], Bool)
            do {
                switch try BundleLocator.candidates(at: path) {
                case .bundle(let location): (candidates, isDirectory) = ([location], false)
                case .file: (candidates, isDirectory) = ([BundleLocation(path: path)], false)
                case .files(let files):
                    (candidates, isDirectory) = (files.map { BundleLocation(path: $0) }, true)
                }
            } catch {
                fail(error)
                continue
            }
            // So many at a time that the threads have enough to do, and what was read stays little.
            let step = 64 * Threads.cores
            for start in stride(from: 0, to: candidates.count, by: step) {
                let part = Array(candidates[start..<min(start + step, candidates.count)])
                startReading()
                let limits = limits.archive
                let results = Threads.map(part) { Self.read($0, scratch: scratch, limits, read) }
                for result in results.joined() {
                    do {
                        try body(result.get())
                    } catch let error as OutputError {
                        throw error
                    } catch let error as BundleError where isDirectory && error.reason == .noMetadata {
                        try warn("'\(error.path)' is passed over: it is a zip, but no bundle.")
                    } catch {
                        fail(error)
                    }
                }
            }
        }
        return code
    }

    /// Reads the bundle that a zip is, or those that are in it.
    private static func read<Value>(
        _ candidate: BundleLocation, scratch: String, _ limits: ZipLimits,
        _ read: (BundleLocation, ZipArchive, UInt64) throws -> Value
    ) -> [Result<Value, any Error>] {
        do {
            if candidate.inner != nil {
                let archive = try candidate.openArchive(
                    scratchDirectory: scratch, limits: limits)
                return [Result { try read(candidate, archive, candidate.size()) }]
            }
            let source = try BundleSource(path: candidate.path, limits: limits)
            return source.locations.map { location in
                Result {
                    let archive = try source.open(location, scratchDirectory: scratch)
                    return try read(location, archive, source.size(of: location))
                }
            }
        } catch {
            return [.failure(error)]
        }
    }
}
