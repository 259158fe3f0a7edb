internal import FailureArtifactsSystem

/// The journal of a process, as read by other processes.
struct Journal {
    let path: String
    private let name: HiddenName

    /// Parses the path of a journal; nil if it is anything else.
    init?(at path: String) {
        guard let name = HiddenName(Self.kind, at: path, hasRandom: false) else { return nil }
        self.path = path
        self.name = name
    }

    private static let kind = "recorder"

    /// The name of a process's own journal.
    static func name(of process: ProcessIdentity) -> String {
        HiddenName(kind, of: process).description
    }

    /// The process that wrote the journal.
    var process: ProcessIdentity { name.process }

    /// The tests that the process had not ended; none if the journal can't be read.
    var tests: [InFlightTest] { (try? readTests()) ?? [] }

    /// Reads the tests that the process had not ended.
    func readTests() throws(SystemError) -> [InFlightTest] {
        InFlightTest.all(in: try RecorderFile(at: path).journal, of: process)
    }

    /// True if the process wrote this very file, rather than one that was copied here or came out of a zip.
    ///
    /// The files of stores that a copied journal names may be anyone's.
    var isOriginal: Bool {
        guard let file = FileSystem.regularFile(path), let lines = try? RecorderFile(at: path).journal
        else { return false }
        return JournalRecord.records(in: lines).contains(.file(file.identity))
    }

    /// True if the process has died, and so has the one that took over.
    var isAbandoned: Bool { name.isAbandoned }

    /// Reads the last statements of the process's connections.
    func readStatements() throws(SystemError) -> RecordedStatements {
        let file = try RecorderFile(at: path)
        let tests = JournalRecord.records(in: file.journal).compactMap { record in
            if case .began(let id, let test, _, _) = record {
                BundleMetadata.NumberedTest(id: id, test)
            } else {
                nil
            }
        }
        return try file.statements(of: tests)
    }

    /// Takes over the journal; returns nil if another process has it.
    func taken() throws(SystemError) -> Journal? {
        guard isAbandoned else { return nil }
        return try name.take(path).flatMap { Journal(at: $0) }
    }

    func remove() throws(SystemError) { try FileSystem.remove(path) }
}

// The journals of processes, in the hidden directory.
extension ArtifactsDirectory {
    /// The journals of all processes; none if they can't be listed.
    var journals: [Journal] { (try? allJournals()) ?? [] }

    /// Lists the journals of all processes.
    func allJournals() throws(SystemError) -> [Journal] {
        try hiddenNames().compactMap { Journal(at: Path.join(inFlight, $0)) }
    }

    /// Creates the journal of a process; see ``InFlightJournal``.
    func makeJournal(of process: ProcessIdentity) throws(SystemError) -> File {
        try inHiddenDirectory { () throws(SystemError) in
            let path = Path.join(inFlight, Journal.name(of: process))
            // This process may have left a journal with an earlier configuration.
            try FileSystem.remove(path)
            return try File(creating: path)
        }
    }

    /// Removes the journal of a process, and the directories that were created only for it.
    func removeJournal(of process: ProcessIdentity) {
        try? FileSystem.remove(Path.join(inFlight, Journal.name(of: process)))
        removeIfEmpty()
    }
}
