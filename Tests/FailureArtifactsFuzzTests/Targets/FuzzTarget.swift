internal import FailureArtifactsSystem

/// Something that reads bytes which may come from anybody.
package struct FuzzTarget: Sendable {
    /// What `Scripts/fuzz` calls it.
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
        .zip, .bundle, .metadata, .statements, .history, .log, .store, .schema,
    ]

    /// Inputs that are what they should be, and small.
    package var seeds: [[UInt8]] {
        do {
            return try makeSeeds()
        } catch {
            fatalError("The seeds of '\(name)' cannot be made: \(error)")
        }
    }

    /// Reads an input.
    ///
    /// Any error is fine; a trap, a hang or memory without bounds is not, nor is an answer
    /// that cannot be.
    package func run(_ bytes: [UInt8]) {
        Scratch.current.clear()
        try? body(bytes, .current)
    }
}

/// A directory of this process for the files of one input.
struct Scratch: Sendable {
    static let current = Scratch()

    let directory: String

    private init() {
        // In memory, where that is to be had: an input takes less than a millisecond.
        let parent = FileSystem.isDirectory("/dev/shm") ? "/dev/shm" : "/tmp"
        do {
            directory = try FileSystem.createUniqueDirectory(in: parent, prefix: "fa-fuzz-")
        } catch {
            fatalError("There is no room for scratch files: \(error)")
        }
        atexit { try? FileSystem.remove(Scratch.current.directory) }
    }

    /// Removes what an input has left.
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

/// Ends the process where something that was read contradicts itself: for libFuzzer, as for a test, a crash.
func require(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { fatalError(what()) }
}
