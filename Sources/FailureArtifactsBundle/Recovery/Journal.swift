internal import FailureArtifactsSystem

/// The journal of a process, as read by other processes.
struct Journal {
    let path: String
    private let name: HiddenName
    /// Held by the process that has taken over the journal.
    private let lock: OwnerLock?

    /// Parses the path of a journal; nil if it is anything else.
    init?(at path: String) {
        guard let name = HiddenName(Self.kind, at: path, hasRandom: false) else { return nil }
        self.init(path: path, name, nil)
    }

    private init(path: String, _ name: HiddenName, _ lock: OwnerLock?) {
        self.path = path
        self.name = name
        self.lock = lock
    }

    private static let kind = "recorder"

    /// The name of a process's own journal.
    static func name(of process: ProcessIdentity) -> String {
        HiddenName(kind, of: process).description
    }

    var process: ProcessIdentity { name.process }

    /// The tests that the process had not ended; none if the journal can't be read.
    var tests: [InFlightTest] { (try? readTests()) ?? [] }

    var isReadable: Bool { (try? RecorderFile(at: path)) != nil }

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
    var isAbandoned: Bool { name.isAbandoned(at: path) }

    /// True if the process that wrote it has died.
    var isOfDeadProcess: Bool { name.taker != nil || isAbandoned }

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
    ///
    /// A journal that can't be read keeps its name, for a sweep by its owner.
    func taken() throws(SystemError) -> Journal? {
        guard isAbandoned else { return nil }
        let taken = try name.take(path) { () throws(SystemError) in _ = try RecorderFile(at: path) }
        return taken.map { Journal(path: $0.path, $0.name, $0.lock) }
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
            let file = try File(creating: path)
            // The recorder's descriptor and its memory keep the lock. See ``OwnerLock``.
            _ = try? file.tryLock()
            return file
        }
    }

    /// Removes the journal of a process, and the directories that were created only for it.
    func removeJournal(of process: ProcessIdentity) {
        try? FileSystem.remove(Path.join(inFlight, Journal.name(of: process)))
        removeIfEmpty()
    }
}
