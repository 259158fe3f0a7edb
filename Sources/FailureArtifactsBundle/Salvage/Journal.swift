internal import FailureArtifactsSystem

/// The journal of a process, as somebody else finds it.
struct Journal {
    let path: String
    let process: ProcessIdentity

    /// What a path is the journal of; nil for anything else.
    ///
    /// `journal-<process>-<its start>`, and behind a dot, once somebody has taken it, who.
    init?(at path: String) {
        let names = Path.name(of: path).split(separator: ".")
        guard let first = names.first, let process = Self.process(first, prefix: "journal"),
            names.count <= 2
        else { return nil }
        if names.count == 2 {
            guard let taker = Self.process(names[1], prefix: "taken") else { return nil }
            self.taker = taker
        } else {
            taker = nil
        }
        self.path = path
        self.process = process
    }

    private let taker: ProcessIdentity?

    private static func process(_ name: Substring, prefix: String) -> ProcessIdentity? {
        let parts = name.split(separator: "-")
        guard parts.count == 3, parts[0] == prefix, let number = Int32(parts[1]),
            let start = UInt64(parts[2])
        else { return nil }
        return ProcessIdentity(number: number, start: start)
    }

    /// The tests that the process had not ended.
    var tests: [InFlightTest] {
        let bytes = (try? FileSystem.contents(ofFile: path)) ?? []
        return InFlightTest.all(in: bytes, of: process)
    }

    /// The same journal in the hands of this process; nil where somebody else has it.
    func taken() -> Journal? {
        if let taker, taker.isAlive { return nil }
        let me = ProcessIdentity.current
        let name = "journal-\(process.number)-\(process.start).taken-\(me.number)-\(me.start)"
        let target = Path.join(Path.directory(of: path), name)
        guard (try? FileSystem.rename(path, to: target)) != nil else { return nil }
        return Journal(at: target)
    }

    /// Notes that a test has its bundle.
    func markEnded(_ id: JournalRecord.TestID) {
        guard let bytes = try? FileSystem.contents(ofFile: path) else { return }
        let records = JournalRecord.records(in: bytes) + [.ended(id)]
        let changed = path + ".new"
        try? FileSystem.remove(changed)
        guard (try? FileSystem.write(records.flatMap(\.line), toNewFile: changed)) != nil else { return }
        try? FileSystem.rename(changed, to: path)
    }

    func remove() { try? FileSystem.remove(path) }
}
