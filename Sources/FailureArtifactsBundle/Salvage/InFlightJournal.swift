package import FailureArtifactsSystem

/// What a process writes down while its tests run, so that somebody else can tell, should it die, which test
/// was running and which stores that test had open.
///
/// It is a small file in the hidden directory, `journal-<process>-<its start>`, of lines that are appended by
/// one `pwrite` each: what the system has taken survives the death of the process, at whatever instant. There
/// is no file before a test opens a store, what it says of tests is dropped when none runs, and the file goes
/// with the process.
///
/// Nothing here fails a test or is said: where the journal can't be written, there is none. May be used from
/// any thread.
package final class InFlightJournal: Sendable {
    /// A test, as the journal tells of it.
    package struct Test: Sendable {
        package let id: JournalRecord.TestID
        package let identity: BundleMetadata.Test
        package let start: Timestamp

        package init(id: JournalRecord.TestID, identity: BundleMetadata.Test, start: Timestamp) {
            self.id = id
            self.identity = identity
            self.start = start
        }
    }

    /// How many stores that nobody in particular has opened are named: the last ones.
    private static let maximumShared = 32

    private final class OpenFile: Sendable {
        let file: File
        init(_ file: consuming File) { self.file = file }
    }

    private struct State {
        var isUsable = true
        /// The process that writes, not one that it forks.
        var owner: Int32 = 0
        var file: OpenFile?
        var end: UInt64 = 0
        /// Where what is said of the process ends, and that of the stores that any test may use.
        var startEnd: UInt64 = 0
        /// Paths of stores that any test may use.
        var shared: [String] = []
        /// The tests that the file tells of.
        var inFlight: Set<JournalRecord.TestID> = []
        /// The rules of redaction, as a line of JSON; nil where there are none.
        var redactions: String?
        /// Whether the file's start tells of the shared stores as they are.
        var isStartCurrent = false
    }

    private let directory: ArtifactsDirectory
    private let environment: @Sendable () -> BundleMetadata.Environment
    private let state = Lock(State())

    /// Prepares a journal; nothing is written yet.
    ///
    /// - Parameters:
    ///   - directory: In whose hidden directory it will be.
    ///   - environment: Describes this process.
    package init(
        in directory: ArtifactsDirectory,
        environment: @escaping @Sendable () -> BundleMetadata.Environment
    ) {
        self.directory = directory
        self.environment = environment
    }

    /// Has those who make bundles for this process leave out what must not get into them.
    ///
    /// - Parameter rules: As a line of JSON; nil where there are none. Tests in flight keep theirs too.
    package func setRedactions(_ rules: String?) {
        state.withLock { state in
            guard state.redactions != rules else { return }
            state.redactions = rules
            state.isStartCurrent = false
            // Without it others would keep what must not be kept: rather no journal.
            if let rules, !state.inFlight.isEmpty,
                !append(JournalRecord.redactions(rules).line, &state)
            {
                giveUp(&state)
            }
        }
    }

    /// A test starts: it is in flight if there are stores that it may use without opening them.
    package func testBegan(_ test: Test) {
        state.withLock { state in
            if !state.shared.isEmpty { note(test, &state) }
        }
    }

    /// A store was opened.
    ///
    /// - Parameters:
    ///   - path: Its file; nil for a store in memory.
    ///   - test: Whose it is; nil where any test may use it.
    package func storeOpened(_ path: String?, by test: Test?) {
        state.withLock { state in
            if let test {
                note(test, &state, and: JournalRecord.opened(path: path, by: test.id).line)
            } else if let path {
                share([path], &state)
            }
        }
    }

    /// A test has ended.
    ///
    /// - Parameters:
    ///   - id: The test.
    ///   - left: The files of the stores that it has left open.
    package func testEnded(_ id: JournalRecord.TestID, leaving left: [String]) {
        state.withLock { state in
            if !left.isEmpty { share(left, &state) }
            guard state.inFlight.remove(id) != nil else { return }
            if state.inFlight.isEmpty, state.owner == getpid() {
                // All that was said of tests is of the past.
                state.end = state.startEnd
                append("", &state)
            } else {
                append(JournalRecord.ended(id).line, &state)
            }
        }
    }

    /// Whether the file tells of a test.
    package func isInFlight(_ id: JournalRecord.TestID) -> Bool {
        state.withLock { $0.inFlight.contains(id) }
    }

    /// Removes the file and, where nothing else is in them, the directories.
    package func close() {
        state.withLock { state in
            guard state.file != nil, state.owner == getpid() else { return }
            giveUp(&state)
        }
    }

    // MARK: Writing

    /// Says that a test is in flight, if that was not said, and something more.
    private func note(_ test: Test, _ state: inout State, and more: String = "") {
        if state.inFlight.contains(test.id) {
            append(more, &state)
            return
        }
        openFile(&state)
        guard state.file != nil, state.owner == getpid() else { return }
        if !state.isStartCurrent && state.inFlight.isEmpty {
            state.end = 0
            let rules = state.redactions.map { JournalRecord.redactions($0).line } ?? ""
            let shared = state.shared.map { JournalRecord.opened(path: $0, by: 0).line }
            let start = JournalRecord.process(environment()).line + rules + shared.joined()
            // A test without the rules that go before it would be worse than none.
            guard append(start, &state) else { return }
            state.startEnd = state.end
            state.isStartCurrent = true
        }
        let began = JournalRecord.began(test.id, test.identity, at: test.start).line
        if append(began + more, &state) { state.inFlight.insert(test.id) }
    }

    private func share(_ paths: [String], _ state: inout State) {
        let new = paths.filter { !state.shared.contains($0) }
        guard !new.isEmpty else { return }
        state.shared += new
        state.shared.removeFirst(max(0, state.shared.count - Self.maximumShared))
        state.isStartCurrent = false
        if !state.inFlight.isEmpty {
            append(new.map { JournalRecord.opened(path: $0, by: 0).line }.joined(), &state)
        }
    }

    /// Writes lines behind those that are there, and behind them that there are no more: what follows in the
    /// file is of the past.
    ///
    /// - Returns: Whether they are there.
    @discardableResult
    private func append(_ lines: String, _ state: inout State) -> Bool {
        guard let file = state.file, state.owner == getpid() else { return false }
        var bytes = lines + JournalRecord.end
        do throws(SystemError) {
            try bytes.withBytes { (buffer) throws(SystemError) in
                try file.file.write(buffer, at: state.end)
            }
            state.end += UInt64(lines.utf8.count)
            return true
        } catch {
            // A line that is there in part would swallow the next one, or have one of the past count.
            if (try? file.file.resize(to: state.end)) == nil { giveUp(&state) }
            return false
        }
    }

    /// Removes the file; there will be no other.
    private func giveUp(_ state: inout State) {
        directory.removeJournal(of: .current)
        state.file = nil
        state.isUsable = false
    }

    private func openFile(_ state: inout State) {
        guard state.file == nil, state.isUsable else { return }
        state.owner = getpid()
        if let file = try? directory.makeJournal(of: .current) {
            state.file = OpenFile(file)
        } else {
            state.isUsable = false
        }
    }
}
