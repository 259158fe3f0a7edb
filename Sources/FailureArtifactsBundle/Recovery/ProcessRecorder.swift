internal import FailureArtifactsSystem

/// The recorder of a process: the process creates it, and another one may take it over after the death.
struct ProcessRecorder {
    let path: String
    private let name: HiddenName
    /// Held by the process that has taken over the recorder.
    private let lock: OwnerLock?

    /// Parses the path of a recorder; nil if it is anything else.
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

    /// The name of a process's own recorder.
    static func name(of process: ProcessIdentity) -> String {
        HiddenName(kind, of: process).description
    }

    var process: ProcessIdentity { name.process }

    /// The tests that the process had not ended; none if the recorder can't be read.
    var tests: [InFlightTest] { (try? readTests()) ?? [] }

    var isReadable: Bool { (try? RecorderFile(at: path)) != nil }

    /// Reads the tests that the process had not ended.
    func readTests() throws(SystemError) -> [InFlightTest] {
        InFlightTest.all(in: try RecorderFile(at: path).inFlight, of: process)
    }

    /// True if the process wrote this very file, rather than one that was copied here or came out of a zip.
    ///
    /// The files of stores that a copied recorder names may be anyone's.
    var isOriginal: Bool {
        guard let file = FileSystem.regularFile(path), let lines = try? RecorderFile(at: path).inFlight
        else { return false }
        return InFlightRecord.records(in: lines).contains(.file(file.identity))
    }

    /// True if the process has died, and so has the one that took over.
    var isAbandoned: Bool { name.isAbandoned(at: path) }

    /// True if the process that wrote it has died.
    var isOfDeadProcess: Bool { name.taker != nil || isAbandoned }

    /// Reads the last statements of the process's connections.
    func readStatements() throws(SystemError) -> LoggedStatements {
        let file = try RecorderFile(at: path)
        let tests = InFlightRecord.records(in: file.inFlight).compactMap { record in
            if case .began(let id, let test, _, _) = record {
                BundleMetadata.NumberedTest(id: id, test)
            } else {
                nil
            }
        }
        return try file.statements(of: tests)
    }

    /// Takes over the recorder; returns nil if another process has it.
    ///
    /// A recorder that can't be read keeps its name, for a sweep by its owner.
    func taken() throws(SystemError) -> ProcessRecorder? {
        guard isAbandoned else { return nil }
        let taken = try name.take(path) { () throws(SystemError) in _ = try RecorderFile(at: path) }
        return taken.map { ProcessRecorder(path: $0.path, $0.name, $0.lock) }
    }

    func remove() throws(SystemError) { try FileSystem.remove(path) }
}

// The recorders of processes, in the hidden directory.
extension ArtifactsDirectory {
    /// The recorders of all processes; none if they can't be listed.
    var recorders: [ProcessRecorder] { (try? allRecorders()) ?? [] }

    /// Lists the recorders of all processes.
    func allRecorders() throws(SystemError) -> [ProcessRecorder] {
        try hiddenNames().compactMap { ProcessRecorder(at: Path.join(inFlight, $0)) }
    }

    /// Creates the recorder of a process; see ``InFlightList``.
    func makeRecorder(of process: ProcessIdentity) throws(SystemError) -> File {
        try inHiddenDirectory { () throws(SystemError) in
            let path = Path.join(inFlight, ProcessRecorder.name(of: process))
            // This process may have left a recorder with an earlier configuration.
            try FileSystem.remove(path)
            let file = try File(creating: path)
            // The recorder's descriptor and its memory keep the lock. See ``OwnerLock``.
            _ = try? file.tryLock()
            return file
        }
    }

    /// Removes the recorder of a process, and the directories that were created only for it.
    func removeRecorder(of process: ProcessIdentity) {
        try? FileSystem.remove(Path.join(inFlight, ProcessRecorder.name(of: process)))
        removeIfEmpty()
    }
}
