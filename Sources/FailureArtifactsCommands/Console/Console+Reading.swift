internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension Console {
    /// Reads a small value from each bundle at `paths`, on all cores.
    ///
    /// Problems with one path or bundle are reported. The other bundles are still read.
    ///
    /// - Parameters:
    ///   - paths: Bundles, directories, and zips of bundles.
    ///   - scratch: A directory for bundles that are inside other zips.
    ///   - task: The label of the progress bar on a terminal; nil for no bar.
    ///   - read: Called for each bundle on any thread, with the bundle's size in bytes.
    ///   - body: Receives the values in the order of the paths and names.
    /// - Returns: The first failure's exit code, or ``ExitCode/done``.
    /// - Throws: An error if an output can't be written.
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

    /// Reads from bundles like ``readBundles(at:scratch:task:_:_:)``, but passes the zip that is or contains the
    /// bundle.
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
        // The batch is large enough to keep all threads busy and small enough to bound memory.
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

/// A failure that ends the command, such as a full disk.
///
/// Problems with one bundle are only reported.
struct UnusableOutput: Error {
    let reason: any Error
}

/// The bundles at one path of the command line.
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

/// The result of briefly opening one zip.
private enum Opened<Value: Sendable>: Sendable {
    case one(Result<Value, any Error>)
    /// The zip contains several bundles, which are read separately.
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
    /// Returns the absolute path of the redaction file to use.
    ///
    /// - Parameter given: The path from the command line; nil if the option wasn't given.
    /// - Returns: The given path or the path from the environment; nil if neither is set.
    func redactionFile(_ given: String?) -> String? {
        let file = given ?? environment[RedactionRules.variable, default: ""]
        return given == nil && file.isEmpty ? nil : Path.join(Path.currentDirectory, file)
    }

    /// The directory of invariants that the environment names; nil for none.
    var invariantsDirectory: String? {
        environment[Invariant.variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a directory of invariants.
    ///
    /// - Parameter given: The path from the command line; nil if the option wasn't given.
    /// - Returns: The invariants in the given directory or the one that the environment names; otherwise none.
    /// - Throws: An error if the given directory can't be read. For the environment's directory, there is a warning.
    func invariants(in given: String?) throws -> [Invariant] {
        if let given {
            do {
                return try Invariant.all(inDirectory: given)
            } catch {
                throw CommandError(
                    error.isNotFound ? .noInput : .inputOutput,
                    "The invariants in '\(given)' cannot be read: \(error).")
            }
        }
        guard let path = invariantsDirectory else { return [] }
        do {
            return try Invariant.all(inDirectory: path)
        } catch {
            try warn(
                "\(Invariant.variable) is '\(path)', which cannot be read: \(error). No invariants are checked."
            )
            return []
        }
    }
}
