internal import CFailureArtifactsShared
package import FailureArtifactsSystem

/// The record that a process keeps of its running tests, for crash recovery.
///
/// If the process dies, another process can tell which test was running and which stores it had open. The list is
/// part of the process's flight recorder, the file `recorder-<process>` in the hidden directory. The file is
/// mapped into memory: what is written there survives the death of the process at any point in time, and takes no system
/// call.
///
/// The file is created for the first test that opens, uses or may use a store. Its records of tests are dropped when no
/// test is running, and the process removes the file at its end.
///
/// Errors are ignored: no test fails and no message is printed if the list can't be written. May be used from any
/// thread.
package final class InFlightList: Sendable {
    /// A test, as recorded in the list.
    ///
    /// This is a class because it is passed along for each store that the test opens.
    package final class Test: Sendable {
        package let id: TestID
        package let identity: BundleMetadata.Test
        package let start: Timestamp
        /// The number of the last statement before the start.
        package let order: UInt64

        package init(
            id: TestID, identity: BundleMetadata.Test, start: Timestamp, order: UInt64
        ) {
            self.id = id
            self.identity = identity
            self.start = start
            self.order = order
        }
    }

    /// The maximum number of shared stores in the list; it lists the most recent ones.
    private static let maximumShared = 32

    private final class OpenFile: Sendable {
        nonisolated(unsafe) let recorder: OpaquePointer
        let directory: ArtifactsDirectory
        let path: String
        let identity: FileStatus.Identity
        /// True if statements and the recorded states of stores are in the file, too.
        let hasStatements: Bool

        init(in directory: ArtifactsDirectory, hasStatements: Bool) throws(SystemError) {
            let file = try directory.makeRecorder(of: .current)
            path = file.path
            identity = try file.status().identity
            guard let recorder = failure_artifacts_recorder_open(file.descriptor, hasStatements) else {
                let error = SystemError("map", file.path, code: errno)
                directory.removeRecorder(of: .current)
                throw error
            }
            self.recorder = recorder
            self.directory = directory
            self.hasStatements = hasStatements
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
        var inFlight: Set<TestID> = []
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

    /// Creates a list in the hidden directory; doesn't write anything yet.
    package init(
        in directory: OutputDirectory,
        environment: @escaping @Sendable () -> BundleMetadata.Environment
    ) {
        self.directory = directory
        self.environment = environment
    }

    /// Sets the redaction rules, a line of JSON, for bundles that another process makes for this one.
    ///
    /// Tests in flight keep their earlier rules too. With rules, no statements and no states of stores stay in a file.
    package func setRedactions(_ rules: String?) {
        state.withLock { state in
            guard state.redactions != rules else { return }
            state.redactions = rules
            state.isStartCurrent = false
            guard let rules, let file = state.file, state.owner == getpid() else { return }
            // Without the rules, other processes would keep redacted content. No list is better than that.
            guard !file.hasStatements || replaceFile(&state),
                state.inFlight.isEmpty || write(InFlightRecord.redactions(rules).line, &state)
            else { return giveUp(&state) }
        }
    }

    /// Replaces the file by one with the same tests in flight; returns false if no file exists.
    ///
    /// Connections that are in use keep the memory of the old file, which has no name any more.
    private func replaceFile(_ state: inout State) -> Bool {
        guard let old = state.file else { return false }
        let lines = state.inFlight.isEmpty ? [] : try? RecorderFile(at: old.path).inFlight
        old.directory.removeRecorder(of: .current)
        state.file = nil
        (state.end, state.startEnd) = (0, 0)
        guard let lines, hasFile(&state), let new = state.file else { return false }
        let records = InFlightRecord.records(in: lines).map { record in
            if case .file = record { InFlightRecord.file(new.identity) } else { record }
        }
        return write(records.map(\.line).joined(), &state)
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
            guard !state.shared.isEmpty, hasFile(&state), let start = start(of: test, &state) else {
                return
            }
            if write(start, &state) { state.inFlight.insert(test.id) }
        }
    }

    /// Records that a test, or any test, opened a store; a store in memory has no path.
    package func storeOpened(_ path: UnsafePointer<CChar>?, by test: Test?) {
        state.withLock { state in
            guard let test else {
                if let path { share([String(cString: path)], &state) }
                return
            }
            guard hasFile(&state), let start = start(of: test, &state) else { return }
            let opened = InFlightRecord.opened(path: path.map { String(cString: $0) }, by: test.id)
            if write(start + opened.line, &state) { state.inFlight.insert(test.id) }
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
            guard hasFile(&state), let start = test.map({ start(of: $0, &state) }) ?? "" else { return }
            let used = InFlightRecord.used(path: path, by: test?.id ?? 0, openedBy: opener)
            if write(start + used.line, &state), let test { state.inFlight.insert(test.id) }
        }
    }

    /// Records the end of a test, and the files that it left open and that other tests may use unnoticed.
    package func testEnded(_ id: TestID, leaving unwatched: [String]) {
        state.withLock { state in
            if !unwatched.isEmpty { share(unwatched, &state) }
            guard state.inFlight.remove(id) != nil, state.owner == getpid() else { return }
            // The records of all tests may be obsolete.
            if state.inFlight.isEmpty { state.end = state.startEnd }
            write(state.inFlight.isEmpty ? "" : InFlightRecord.ended(id).line, &state)
        }
    }

    /// True if the file lists the test as in flight.
    package func isInFlight(_ id: TestID) -> Bool {
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

    /// Returns the line for the start of a test, which is empty if the file has it; nil if it must not be written.
    ///
    /// Writes the start of the file if it isn't current.
    private func start(of test: Test, _ state: inout State) -> String? {
        if state.inFlight.contains(test.id) { return "" }
        if state.inFlight.isEmpty && !state.isStartCurrent {
            state.end = 0
            guard state.file?.hasStatements == (state.redactions == nil) || replaceFile(&state) else {
                return nil
            }
            let environment = environment()
            var records: [InFlightRecord] = [.process(environment)]
            if let file = state.file { records.append(.file(file.identity)) }
            if let images = state.images { records.append(.images(images)) }
            if let rules = state.redactions { records.append(.redactions(rules)) }
            records += state.shared.map { .opened(path: $0, by: 0) }
            // Without the rules that precede it, the test's record must not be written.
            guard write(records.map(\.line).joined(), &state) else { return nil }
            state.startEnd = state.end
            state.isStartCurrent = state.images != nil
        }
        if let file = state.file { failure_artifacts_recorder_calibrate(file.recorder) }
        if !state.usedBySome.isEmpty { state.usedBySome = [] }
        return InFlightRecord.began(test.id, test.identity, at: test.start, after: test.order).line
    }

    private func share(_ paths: [String], _ state: inout State) {
        let new = paths.filter { !state.shared.contains($0) }
        guard !new.isEmpty else { return }
        state.shared += new
        state.shared.removeFirst(max(0, state.shared.count - Self.maximumShared))
        state.isStartCurrent = false
        guard !state.inFlight.isEmpty, state.owner == getpid() else { return }
        write(new.map { InFlightRecord.opened(path: $0, by: 0).line }.joined(), &state)
    }

    /// Writes the lines after the existing ones, in place of those that are obsolete; returns true if it did.
    ///
    /// Call this only in the process that owns the file.
    @discardableResult
    private func write(_ lines: String, _ state: inout State) -> Bool {
        guard let file = state.file else { return false }
        var lines = lines
        let isWritten = lines.withUTF8 {
            failure_artifacts_recorder_write_tests(file.recorder, state.end, $0.baseAddress, $0.count)
        }
        if isWritten { state.end += UInt64(lines.utf8.count) }
        return isWritten
    }

    /// Removes the file for good: no other is created.
    private func giveUp(_ state: inout State) {
        state.file?.directory.removeRecorder(of: .current)
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
