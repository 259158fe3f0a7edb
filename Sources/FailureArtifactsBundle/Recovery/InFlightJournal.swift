internal import CFailureArtifactsRecorder
package import FailureArtifactsSystem

/// The record that a process keeps of its running tests, for crash recovery.
///
/// If the process dies, another process can tell which test was running and which stores it had open. The journal is
/// part of the process's flight recorder, the file `recorder-<process>-<its start>` in the hidden directory. The file is
/// mapped into memory: what is written there survives the death of the process at any point in time, and takes no system
/// call.
///
/// The file is created for the first test that opens, uses or may use a store. Its records of tests are dropped when no
/// test is running, and the process removes the file at its end.
///
/// Errors are ignored: no test fails and no message is printed if the journal can't be written. May be used from any
/// thread.
package final class InFlightJournal: Sendable {
    /// A test, as recorded in the journal.
    ///
    /// This is a class because it is passed along for each store that the test opens.
    package final class Test: Sendable {
        package let id: JournalRecord.TestID
        package let identity: BundleMetadata.Test
        package let start: Timestamp
        /// The number of the last statement before the start.
        package let order: UInt64

        package init(
            id: JournalRecord.TestID, identity: BundleMetadata.Test, start: Timestamp, order: UInt64
        ) {
            self.id = id
            self.identity = identity
            self.start = start
            self.order = order
        }
    }

    /// The maximum number of shared stores in the journal; it lists the most recent ones.
    private static let maximumShared = 32

    private final class OpenFile: Sendable {
        nonisolated(unsafe) let recorder: OpaquePointer
        let directory: ArtifactsDirectory
        let identity: FileStatus.Identity

        init(in directory: ArtifactsDirectory, hasStatements: Bool) throws(SystemError) {
            let file = try directory.makeJournal(of: .current)
            identity = try file.status().identity
            guard let recorder = failure_artifacts_recorder_open(file.descriptor, hasStatements) else {
                let error = SystemError("map", file.path, code: errno)
                directory.removeJournal(of: .current)
                throw error
            }
            self.recorder = recorder
            self.directory = directory
        }

        deinit { failure_artifacts_recorder_close(recorder) }
    }

    private struct State {
        var isUsable = true
        /// The process that writes, as opposed to a process that it forks.
        var owner: Int32 = 0
        var file: OpenFile?
        var end: UInt64 = 0
        /// The offset after the records of the process and of the stores that any test may use.
        var startEnd: UInt64 = 0
        /// The paths of stores that any test may use.
        var shared: [String] = []
        /// The paths of stores that the file lists as used by one of the tests in flight.
        var usedBySome: Set<String> = []
        /// The tests that the file lists.
        var inFlight: Set<JournalRecord.TestID> = []
        /// The lines to write next.
        let lines = JournalLines()
        /// The redaction rules, as a line of JSON; nil if there are none.
        var redactions: String?
        /// The images of the process, as a line of JSON; nil before the first test.
        var images: String?
        /// True if the start of the file lists the images, and the current shared stores and redaction rules.
        var isStartCurrent = false
    }

    private let directory: OutputDirectory
    private let environment: @Sendable () -> BundleMetadata.Environment
    private let state = Lock(State())

    /// Creates a journal in the hidden directory; doesn't write anything yet.
    package init(
        in directory: OutputDirectory,
        environment: @escaping @Sendable () -> BundleMetadata.Environment
    ) {
        self.directory = directory
        self.environment = environment
    }

    /// Sets the redaction rules, a line of JSON, for bundles that another process makes for this one.
    ///
    /// Tests in flight keep their earlier rules too.
    package func setRedactions(_ rules: String?) {
        state.withLock { state in
            guard state.redactions != rules else { return }
            state.redactions = rules
            state.isStartCurrent = false
            if let file = state.file {
                failure_artifacts_recorder_has_chunks(file.recorder, rules == nil)
            }
            if let rules, !state.inFlight.isEmpty, state.owner == getpid() {
                state.lines.clear()
                state.lines.add(.redactions(rules))
                // Without the rules, other processes would keep redacted content. No journal is better than that.
                if !write(&state) { giveUp(&state) }
            }
        }
    }

    /// Records the start of a test.
    ///
    /// It is in flight if there are stores that it may use without opening them. Must not be called in a callback of
    /// SQLite: listing the images of the process takes the dynamic linker's lock.
    package func testBegan(_ test: Test) {
        let images = LoadedImages.currentJSON
        state.withLock { state in
            if state.images != images {
                state.images = images
                state.isStartCurrent = false
            }
            guard !state.shared.isEmpty, hasFile(&state) else { return }
            state.lines.clear()
            guard note(test, &state) else { return }
            if write(&state) { state.inFlight.insert(test.id) }
        }
    }

    /// Records that a test, or any test, opened a store; a store in memory has no path.
    package func storeOpened(_ path: UnsafePointer<CChar>?, by test: Test?) {
        state.withLock { state in
            guard let test else {
                if let path { share([String(cString: path)], &state) }
                return
            }
            guard hasFile(&state) else { return }
            state.lines.clear()
            guard note(test, &state) else { return }
            state.lines.addOpened(path, by: test.id)
            if write(&state) { state.inFlight.insert(test.id) }
        }
    }

    /// Records the use of a store that an earlier test left open; a store in memory has no path.
    ///
    /// Without a test, it may be any of the tests in flight. The opener is nil if unknown.
    package func storeUsed(
        _ path: String?, by test: Test?, openedBy opener: BundleMetadata.Store.Opener?
    ) {
        state.withLock { state in
            if test == nil {
                // Skip it if no test is in flight, or if the path was recorded since the last test began.
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

    /// Records the end of a test, and the files that it left open and that other tests may use unnoticed.
    package func testEnded(_ id: JournalRecord.TestID, leaving unwatched: [String]) {
        state.withLock { state in
            if !unwatched.isEmpty { share(unwatched, &state) }
            guard state.inFlight.remove(id) != nil, state.owner == getpid() else { return }
            state.lines.clear()
            if state.inFlight.isEmpty {
                // The records of all tests are obsolete.
                state.end = state.startEnd
            } else {
                state.lines.add(.ended(id))
            }
            write(&state)
        }
    }

    /// True if the file lists the test as in flight.
    package func isInFlight(_ id: JournalRecord.TestID) -> Bool {
        state.withLock { $0.inFlight.contains(id) }
    }

    /// Removes the file, and the directories if nothing else is in them.
    package func close() {
        state.withLock { state in
            guard state.file != nil, state.owner == getpid() else { return }
            giveUp(&state)
        }
    }

    // MARK: Writing

    /// Adds the start of a test to the next lines, if it isn't in the file yet; returns false if they must not be
    /// written.
    private func note(_ test: Test, _ state: inout State) -> Bool {
        if state.inFlight.contains(test.id) { return true }
        if state.inFlight.isEmpty && !state.isStartCurrent {
            state.end = 0
            let environment = environment()
            state.lines.add(.process(environment))
            if let run = environment.run { state.lines.add(.run(run)) }
            if let file = state.file { state.lines.add(.file(file.identity)) }
            if let images = state.images { state.lines.add(.images(images)) }
            if let rules = state.redactions { state.lines.add(.redactions(rules)) }
            for path in state.shared { state.lines.add(.opened(path: path, by: 0)) }
            // Without the rules that precede it, the test's record must not be written.
            guard write(&state) else { return false }
            state.lines.clear()
            state.startEnd = state.end
            state.isStartCurrent = state.images != nil
        }
        if let file = state.file { failure_artifacts_recorder_calibrate(file.recorder) }
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

    /// Writes the lines after the existing ones, in place of those that are obsolete; returns true if it did.
    ///
    /// Call this only in the process that owns the file.
    @discardableResult
    private func write(_ state: inout State) -> Bool {
        guard let file = state.file, let lines = state.lines.bytes,
            failure_artifacts_journal_write(
                file.recorder, state.end, lines.baseAddress, lines.count)
        else { return false }
        state.end += UInt64(lines.count)
        return true
    }

    /// Removes the file for good: no other is created.
    private func giveUp(_ state: inout State) {
        state.file?.directory.removeJournal(of: .current)
        state.file = nil
        state.isUsable = false
    }

    /// True if the file belongs to this process.
    ///
    /// Creates the file if there was none.
    private func hasFile(_ state: inout State) -> Bool {
        if state.file != nil { return state.owner == getpid() }
        guard state.isUsable else { return false }
        state.owner = getpid()
        let hasStatements = state.redactions == nil
        state.file = try? directory.use { path in
            try OpenFile(in: ArtifactsDirectory(path: path), hasStatements: hasStatements)
        }
        state.isUsable = state.file != nil
        return state.isUsable
    }
}
