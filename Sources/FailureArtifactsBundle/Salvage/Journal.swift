internal import FailureArtifactsSystem

/// The journal of a process, as somebody else finds it.
struct Journal {
    let path: String
    private let name: HiddenName

    /// What a path is the journal of; nil for anything else.
    init?(at path: String) {
        guard let name = HiddenName(Self.kind, at: path, hasRandom: false) else { return nil }
        self.path = path
        self.name = name
    }

    private static let kind = "journal"

    /// The name that a process gives to its own.
    static func name(of process: ProcessIdentity) -> String {
        HiddenName(kind, of: process).description
    }

    /// Whose it is.
    var process: ProcessIdentity { name.process }

    /// The tests that the process had not ended.
    var tests: [InFlightTest] {
        let bytes = (try? FileSystem.contents(ofFile: path)) ?? []
        return InFlightTest.all(in: bytes, of: process)
    }

    /// The same journal in the hands of this process; nil where somebody else has it.
    func taken() -> Journal? {
        guard name.isAbandoned else { return nil }
        let target = Path.join(Path.directory(of: path), name.takenByThisProcess.description)
        guard (try? FileSystem.rename(path, to: target)) != nil else { return nil }
        return Journal(at: target)
    }

    func remove() { try? FileSystem.remove(path) }
}
