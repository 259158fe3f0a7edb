internal import FailureArtifactsSystem

/// Code that reads untrusted bytes.
package struct FuzzTarget: Sendable {
    /// The target's name in `Scripts/fuzz`.
    package let name: String
    private let makeSeeds: @Sendable () throws -> [[UInt8]]
    private let body: @Sendable ([UInt8], Scratch) throws -> Void

    init(
        _ name: String, seeds: @escaping @Sendable () throws -> [[UInt8]],
        _ body: @escaping @Sendable ([UInt8], Scratch) throws -> Void
    ) {
        self.name = name
        makeSeeds = seeds
        self.body = body
    }

    package static let all: [FuzzTarget] = [
        .zip, .bundle, .metadata, .statements, .baseline, .recorder, .history, .log, .store, .schema,
    ]

    /// Valid, small inputs.
    package var seeds: [[UInt8]] {
        do {
            return try makeSeeds()
        } catch {
            fatalError("The seeds of '\(name)' cannot be made: \(error)")
        }
    }

    /// Reads an input.
    ///
    /// Any error is fine. A trap, a hang, unbounded memory or an impossible result is a failure.
    package func run(_ bytes: [UInt8]) {
        Scratch.current.clear()
        try? body(bytes, .current)
    }
}

/// A directory of this process for one input's files.
struct Scratch: Sendable {
    static let current = Scratch()

    let directory: String

    private init() {
        // Use memory if possible, because an input takes less than a millisecond.
        let parent = FileSystem.isDirectory("/dev/shm") ? "/dev/shm" : "/tmp"
        do {
            directory = try FileSystem.createUniqueDirectory(in: parent, prefix: "fa-fuzz-")
        } catch {
            fatalError("The directory for scratch files could not be created: \(error)")
        }
        atexit { try? FileSystem.remove(Scratch.current.directory) }
    }

    /// Removes the files of the last input.
    func clear() {
        for name in (try? FileSystem.contents(ofDirectory: directory)) ?? [] {
            try? FileSystem.remove(path(name))
        }
    }

    func path(_ name: String) -> String { Path.join(directory, name) }

    /// Writes a file.
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        let path = path(name)
        try? FileSystem.remove(path)
        try FileSystem.write(bytes, toNewFile: path)
        return path
    }
}

extension FileSystem {
    fileprivate static func isDirectory(_ path: String) -> Bool {
        (try? status(of: path))??.kind == .directory
    }
}

/// Ends the process if the result of reading contradicts itself.
///
/// Both libFuzzer and a test see a crash.
func require(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { fatalError(what()) }
}
