internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
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
    ///   - task: What a bar on a terminal says that is being done; nil for no bar.
    ///   - read: Called for each bundle, with its size in bytes, on any thread.
    ///   - body: Gets what was read, in the order of the paths and names.
    /// - Returns: The first failure's code; else ``ExitCode/done``.
    /// - Throws: Failures to write.
    func readBundles<Value: Sendable>(
        at paths: [String], scratch: String, task: String? = nil,
        _ read: @escaping @Sendable (BundleLocation, ZipArchive, UInt64) throws -> Value,
        _ body: (Value) throws -> Void
    ) throws -> ExitCode {
        try readSources(
            at: paths, task: task,
            { source, location in
                let archive = try source.open(location, scratchDirectory: scratch)
                return try read(location, archive, source.size(of: location))
            }, body)
    }

    /// The same, with the zip that the bundle is or is in.
    func readSources<Value: Sendable>(
        at paths: [String], task: String?,
        _ read: @escaping @Sendable (BundleSource, BundleLocation) throws -> Value,
        _ body: (Value) throws -> Void
    ) throws -> ExitCode {
        var code = ExitCode.done
        var done = 0
        var total = 0
        defer { progress.clear() }
        func fail(_ error: any Error) {
            let report = CommandError(error)
            self.report(report)
            if code == .done { code = report.exitCode }
        }
        func take(_ results: [Result<Value, any Error>], isDirectory: Bool) throws {
            for result in results {
                done += 1
                if let task { progress.show(task, done: done, total: total) }
                do {
                    try body(result.get())
                } catch let error as OutputError {
                    throw error
                } catch let error as UnusableOutput {
                    throw error.reason
                } catch let error as BundleError where isDirectory && error.reason == .noMetadata {
                    try warn("'\(error.path)' is passed over: it is a zip, but no bundle.")
                } catch {
                    fail(error)
                }
            }
        }
        let plans = paths.map(Plan.init)
        total = plans.reduce(0) { $0 + $1.count }
        // So many at a time that the threads have enough to do, and what was read stays little.
        let step = 64 * Threads.cores
        for plan in plans {
            let candidates: [BundleLocation]
            do {
                candidates = try plan.candidates.get()
            } catch {
                fail(error)
                continue
            }
            for start in stride(from: 0, to: candidates.count, by: step) {
                let part = Array(candidates[start..<min(start + step, candidates.count)])
                startReading()
                let limits = limits.archive
                for opened in Threads.map(part, { Opened($0, limits, read) }) {
                    guard case .several(let path) = opened else {
                        if case .one(let result) = opened {
                            try take([result], isDirectory: plan.isDirectory)
                        }
                        continue
                    }
                    let source: BundleSource
                    do {
                        source = try BundleSource(path: path, limits: limits)
                    } catch {
                        fail(error)
                        continue
                    }
                    total += source.locations.count - 1
                    for start in stride(from: 0, to: source.locations.count, by: step) {
                        let end = min(start + step, source.locations.count)
                        let part = Array(source.locations[start..<end])
                        startReading()
                        let results = Threads.map(part) { location in
                            Result { try read(source, location) }
                        }
                        try take(results, isDirectory: plan.isDirectory)
                    }
                }
            }
        }
        return code
    }
}

/// An end to everything, as of a full disk, where what is wrong with a bundle is no more than a report.
struct UnusableOutput: Error {
    let reason: any Error
}

/// What one path of the command line stands for.
private struct Plan {
    let candidates: Result<[BundleLocation], any Error>
    let isDirectory: Bool

    init(path: String) {
        do {
            switch try BundleLocator.candidates(at: path) {
            case .bundle(let location): (candidates, isDirectory) = (.success([location]), false)
            case .file: (candidates, isDirectory) = (.success([BundleLocation(path: path)]), false)
            case .files(let files):
                (candidates, isDirectory) = (.success(files.map { BundleLocation(path: $0) }), true)
            }
        } catch {
            (candidates, isDirectory) = (.failure(error), false)
        }
    }

    var count: Int { (try? candidates.get().count) ?? 0 }
}

/// A zip that was opened for a moment.
private enum Opened<Value: Sendable>: Sendable {
    case one(Result<Value, any Error>)
    /// There are more bundles in it than are to be read at once.
    case several(String)

    init(
        _ candidate: BundleLocation, _ limits: ZipLimits,
        _ read: @Sendable (BundleSource, BundleLocation) throws -> Value
    ) {
        do {
            let source = try BundleSource(path: candidate.path, limits: limits)
            if candidate.inner == nil, source.locations.count > 1 {
                self = .several(candidate.path)
                return
            }
            let location = candidate.inner == nil ? source.locations[0] : candidate
            self = .one(Result { try read(source, location) })
        } catch {
            self = .one(.failure(error))
        }
    }
}

extension Console {
    /// The file with redactions that is to be used, absolute.
    ///
    /// - Parameter given: The one that an option names; nil where it is not given.
    /// - Returns: That one, or the one that the environment names; nil where neither does.
    func redactionFile(_ given: String?) -> String? {
        let file = given ?? environment[RedactionRules.variable, default: ""]
        return given == nil && file.isEmpty ? nil : Path.join(Path.currentDirectory, file)
    }
}
