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

    /// The tests that the process had not ended, as far as the journal can be read.
    var tests: [InFlightTest] { (try? readTests()) ?? [] }

    /// The tests that the process had not ended.
    ///
    /// - Throws: The failure to read the journal.
    func readTests() throws(SystemError) -> [InFlightTest] {
        InFlightTest.all(in: try FileSystem.contents(ofFile: path), of: process)
    }

    /// The same journal in the hands of this process; nil where somebody else has it.
    ///
    /// - Throws: The failure to take it.
    func taken() throws(SystemError) -> Journal? {
        guard name.isAbandoned else { return nil }
        let target = Path.join(Path.directory(of: path), name.takenByThisProcess.description)
        do throws(SystemError) {
            try FileSystem.rename(path, to: target)
        } catch {
            guard error.isNotFound else { throw error }
            return nil
        }
        return Journal(at: target)
    }

    func remove() throws(SystemError) { try FileSystem.remove(path) }
}
