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
    ///
    /// A class, because it is handed on for each store that the test opens.
    package final class Test: Sendable {
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
        let directory: ArtifactsDirectory

        init(in directory: ArtifactsDirectory) throws(SystemError) {
            file = try directory.makeJournal(of: .current)
            self.directory = directory
        }
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
        /// Paths of stores of which the file says that one of these tests has used them.
        var usedBySome: Set<String> = []
        /// The tests that the file tells of.
        var inFlight = InFlightIDs()
        /// What is to be written next.
        let lines = JournalLines()
        /// The rules of redaction, as a line of JSON; nil where there are none.
        var redactions: String?
        /// Whether the file's start tells of the shared stores as they are.
        var isStartCurrent = false
    }

    private let directory: OutputDirectory
    private let environment: @Sendable () -> BundleMetadata.Environment
    private let state = Lock(State())

    /// Prepares a journal; nothing is written yet.
    ///
    /// - Parameters:
    ///   - directory: In whose hidden directory it will be.
    ///   - environment: Describes this process.
    package init(
        in directory: OutputDirectory,
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
            if let rules, !state.inFlight.isEmpty, state.owner == getpid() {
                state.lines.clear()
                state.lines.add(.redactions(rules))
                // Without it others would keep what must not be kept: rather no journal.
                if !write(&state) { giveUp(&state) }
            }
        }
    }

    /// A test starts: it is in flight if there are stores that it may use without opening them.
    package func testBegan(_ test: Test) {
        let state = self.state.enter()
        defer { self.state.leave() }
        guard state.pointee.shared.count > 0, hasFile(&state.pointee) else { return }
        state.pointee.lines.clear()
        guard note(test, &state.pointee) else { return }
        if write(&state.pointee) { state.pointee.inFlight.insert(test.id) }
    }

    /// A store was opened.
    ///
    /// - Parameters:
    ///   - path: Its file; nil for a store in memory.
    ///   - test: Whose it is; nil where any test may use it.
    package func storeOpened(_ path: UnsafePointer<CChar>?, by test: Test?) {
        let state = self.state.enter()
        defer { self.state.leave() }
        guard let test else {
            if let path { share([String(cString: path)], &state.pointee) }
            return
        }
        guard hasFile(&state.pointee) else { return }
        state.pointee.lines.clear()
        guard note(test, &state.pointee) else { return }
        state.pointee.lines.addOpened(path, by: test.id)
        if write(&state.pointee) { state.pointee.inFlight.insert(test.id) }
    }

    /// A store is used that an earlier test has left open.
    ///
    /// - Parameters:
    ///   - path: Its file; nil for a store in memory.
    ///   - test: The test that uses it; nil for one of those in flight.
    ///   - opener: The test that opened it; nil where that is not known.
    package func storeUsed(
        _ path: String?, by test: Test?, openedBy opener: BundleMetadata.Store.Opener?
    ) {
        state.withLock { state in
            if test == nil {
                // Of none in flight there is nothing to say, nor again until another one is.
                guard let path, !state.inFlight.isEmpty, state.usedBySome.insert(path).inserted else {
                    return
                }
            }
            guard hasFile(&state) else { return }
            state.lines.clear()
            if let test { guard note(test, &state) else { return } }
            state.lines.add(.used(path: path, by: test?.id ?? 0, openedBy: opener))
            if write(&state), let test { state.inFlight.insert(test.id) }
        }
    }

    /// A test has ended.
    ///
    /// - Parameters:
    ///   - id: The test.
    ///   - unwatched: The files of stores that it has left open, and that others may use without notice.
    package func testEnded(_ id: JournalRecord.TestID, leaving unwatched: [String]) {
        let state = self.state.enter()
        defer { self.state.leave() }
        if unwatched.count > 0 { share(unwatched, &state.pointee) }
        guard state.pointee.inFlight.remove(id), state.pointee.owner == getpid() else { return }
        state.pointee.lines.clear()
        if state.pointee.inFlight.isEmpty {
            // All that was said of tests is of the past.
            state.pointee.end = state.pointee.startEnd
        } else {
            state.pointee.lines.add(.ended(id))
        }
        write(&state.pointee)
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

    /// Adds that a test is in flight to what is written next, if that was not said.
    ///
    /// - Returns: Whether it may be written.
    private func note(_ test: Test, _ state: inout State) -> Bool {
        if state.inFlight.contains(test.id) { return true }
        if state.inFlight.isEmpty && !state.isStartCurrent {
            state.end = 0
            state.lines.add(.process(environment()))
            if let rules = state.redactions { state.lines.add(.redactions(rules)) }
            for path in state.shared { state.lines.add(.opened(path: path, by: 0)) }
            // A test without the rules that go before it would be worse than none.
            guard write(&state) else { return false }
            state.lines.clear()
            state.startEnd = state.end
            state.isStartCurrent = true
        }
        state.lines.addBegan(test)
        if !state.usedBySome.isEmpty { state.usedBySome = [] }
        return true
    }

    private func share(_ paths: [String], _ state: inout State) {
        let new = paths.filter { !state.shared.contains($0) }
        guard !new.isEmpty else { return }
        state.shared += new
        state.shared.removeFirst(max(0, state.shared.count - Self.maximumShared))
        state.isStartCurrent = false
        guard !state.inFlight.isEmpty, state.owner == getpid() else { return }
        state.lines.clear()
        for path in new { state.lines.add(.opened(path: path, by: 0)) }
        write(&state)
    }

    /// Writes the lines behind those that are there, and behind them that there are no more.
    ///
    /// What follows in the file is of the past. Only to be called in the process that the file is of.
    ///
    /// - Returns: Whether they are there.
    @discardableResult
    private func write(_ state: inout State) -> Bool {
        guard let file = state.file else { return false }
        let count = state.lines.count
        state.lines.addEnd()
        guard let bytes = state.lines.bytes else { return false }
        do throws(SystemError) {
            try Self.write(bytes, to: file.file, at: state.end)
            state.end += UInt64(count)
            return true
        } catch {
            // A line that is there in part would swallow the next one, or have one of the past count.
            if (try? file.file.resize(to: state.end)) == nil { giveUp(&state) }
            return false
        }
    }

    private static let hasFileSizeLimit = ProcessEnvironment.hasFileSizeLimit

    /// Writes to the file; few processes have a limit that takes more than that.
    private static func write(
        _ bytes: UnsafeRawBufferPointer, to file: borrowing File, at offset: UInt64
    ) throws(SystemError) {
        if !hasFileSizeLimit { return try file.write(bytes, at: offset) }
        var failure: SystemError?
        withoutFileSizeSignal {
            do throws(SystemError) { try file.write(bytes, at: offset) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Removes the file; there will be no other.
    private func giveUp(_ state: inout State) {
        state.file?.directory.removeJournal(of: .current)
        state.file = nil
        state.isUsable = false
    }

    /// Whether there is a file and this is its process; creates it where there was none.
    private func hasFile(_ state: inout State) -> Bool {
        if state.file != nil { return state.owner == getpid() }
        guard state.isUsable else { return false }
        state.owner = getpid()
        state.file = try? directory.use { try OpenFile(in: ArtifactsDirectory(path: $0)) }
        state.isUsable = state.file != nil
        return state.isUsable
    }
}

/// Tests that are in flight, which for most processes is one: a `Set` is made only for a second one, because in a
/// debug build each look into it takes more than a thousand instructions.
private struct InFlightIDs {
    /// 0 for none.
    private var first: JournalRecord.TestID = 0
    private var others: Set<JournalRecord.TestID> = []

    var isEmpty: Bool { first == 0 && others.isEmpty }

    func contains(_ id: JournalRecord.TestID) -> Bool {
        if first == id { return true }
        return others.isEmpty ? false : others.contains(id)
    }

    mutating func insert(_ id: JournalRecord.TestID) {
        if contains(id) { return }
        if first == 0 { first = id } else { others.insert(id) }
    }

    /// - Returns: Whether it was there.
    mutating func remove(_ id: JournalRecord.TestID) -> Bool {
        guard first == id else { return others.isEmpty ? false : others.remove(id) != nil }
        first = 0
        return true
    }
}
