internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

extension Console {
    /// Reads a small value from each bundle at `paths`, on all cores.
    ///
    /// Problems with one path or bundle are reported. The other bundles are still read.
    ///
    /// - `task`: the label of the progress bar on a terminal; nil for no bar.
    /// - `read`: called for each bundle on any thread, with the bundle's size in bytes.
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
        for path in paths { try recoverTests(at: path) }
        let plans = paths.map(Plan.init)
        var batches = BundleBatches(console: self, task: task, total: plans.reduce(0) { $0 + $1.count })
        defer { progress.clear() }
        for plan in plans { try batches.read(plan, read, body) }
        return batches.code
    }
}

/// Bundles that are read in batches, on all cores.
private struct BundleBatches {
    /// The number of bundles in a batch: enough to keep all threads busy, and few enough to bound memory.
    private static let size = 64 * Threads.cores

    let console: Console
    /// The label of the progress bar; nil for no bar.
    let task: String?
    /// The number of bundles found so far.
    var total: Int
    private var done = 0
    /// The first failure's exit code.
    private(set) var code = ExitCode.done

    init(console: Console, task: String?, total: Int) {
        self.console = console
        self.task = task
        self.total = total
    }

    /// Reads the bundles at one path of the command line.
    mutating func read<Value: Sendable>(
        _ plan: Plan, _ read: @escaping @Sendable (BundleSource, BundleLocation) throws -> Value,
        _ body: (Value) throws -> Void
    ) throws {
        let candidates: [BundleLocation]
        do {
            candidates = try plan.candidates.get()
        } catch {
            return fail(error)
        }
        let limits = console.limits.archive
        for start in stride(from: 0, to: candidates.count, by: Self.size) {
            console.startReading()
            let part = Array(candidates[start..<min(start + Self.size, candidates.count)])
            for opened in Threads.map(part, { Opened($0, limits, read) }) {
                switch opened {
                case .one(let result): try take([result], of: plan, body)
                case .several(let path): try readAll(in: path, of: plan, read, body)
                }
            }
        }
    }

    /// Reads all bundles in a zip of bundles.
    private mutating func readAll<Value: Sendable>(
        in path: String, of plan: Plan,
        _ read: @escaping @Sendable (BundleSource, BundleLocation) throws -> Value,
        _ body: (Value) throws -> Void
    ) throws {
        let source: BundleSource
        do {
            source = try BundleSource(path: path, limits: console.limits.archive)
        } catch {
            return fail(error)
        }
        total += source.locations.count - 1
        for start in stride(from: 0, to: source.locations.count, by: Self.size) {
            console.startReading()
            let end = min(start + Self.size, source.locations.count)
            let results = Threads.map(Array(source.locations[start..<end])) { location in
                Result { try read(source, location) }
            }
            try take(results, of: plan, body)
        }
    }

    private mutating func take<Value>(
        _ results: [Result<Value, any Error>], of plan: Plan, _ body: (Value) throws -> Void
    ) throws {
        for result in results {
            done += 1
            if let task { console.progress.show(task, done: done, total: total) }
            do {
                try body(result.get())
            } catch let error as OutputError {
                throw error
            } catch let error as UnusableOutput {
                throw error.reason
            } catch let error as BundleError where plan.isDirectory && error.reason == .noMetadata {
                try console.warn("'\(error.path)' is passed over: it is a zip, but no bundle.")
            } catch {
                fail(error)
            }
        }
    }

    private mutating func fail(_ error: any Error) {
        let failure = console.failure(error)
        console.report(failure)
        if code == .done { code = failure.exitCode }
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
            case .bundles(let locations): (candidates, isDirectory) = (.success(locations), false)
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
