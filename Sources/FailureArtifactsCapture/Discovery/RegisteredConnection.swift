internal import CFailureArtifactsCapture
internal import FailureArtifactsSystem

/// An open connection in the registry; only to be used with the registry's lock held.
struct RegisteredConnection {
    let record: UnsafeMutablePointer<failure_artifacts_connection>
    let serial: UInt64
    /// A number that is equal for connections to the same store, and different for most others.
    let storeKey: UInt64
    /// The test that opened the connection; 0 if no test did, or not known.
    let owner: TestID
    /// The test that opened the first connection to the same store; 0 as above.
    let storeOwner: TestID
    /// The number of statements that the process had run when the owner ended; 0 before.
    var leftAt: UInt64 = 0
    /// The tests whose tasks ran statements on the connection.
    ///
    /// Tests that have ended are removed.
    var users: Set<TestID> = []
    /// The suites of the tests that opened the connection or whose tasks used it, if tests run at the same time.
    var suites: Set<String> = []
    /// True if the task that ran the last statement in a task belongs to no test.
    var isUsedByTaskOfNoTest = false
    /// The number from ``failure_artifacts_traffic()`` when it was read last.
    var traffic: UInt64 = 0
    /// The point in time at which that number was found to have changed; 0 if it never has.
    var trafficNotedAt: UInt64 = 0
    /// The files that the connection has attached.
    var attached: Set<FileStatus.Identity> = []

    init(
        _ record: UnsafeMutablePointer<failure_artifacts_connection>, owner: TestID, storeOwner: TestID
    ) {
        self.record = record
        serial = record.pointee.serial
        storeKey = Self.storeKey(of: record)
        self.owner = owner
        self.storeOwner = storeOwner
    }

    /// True if no test has opened the store, and it has no file.
    ///
    /// The journal lists a file once for all tests. Of a store in memory it lists each test's use.
    var isOfAnyTestInMemory: Bool { owner == 0 && record.pointee.path == nil }

    static func storeKey(of record: UnsafeMutablePointer<failure_artifacts_connection>) -> UInt64 {
        record.pointee.path == nil
            ? UInt64(UInt(bitPattern: record.pointee.file)) : record.pointee.identity.inode
    }

    /// The identity of the main database's file when it was opened; nil if there was none.
    var identity: FileStatus.Identity? { FileStatus.Identity(record.pointee.identity) }

    /// Returns true if both have the same main database: the same file under the same name, or the same memory.
    func hasSameStore(as other: UnsafeMutablePointer<failure_artifacts_connection>) -> Bool {
        guard let path = record.pointee.path, let otherPath = other.pointee.path else {
            return record.pointee.path == other.pointee.path
        }
        return identity == FileStatus.Identity(other.pointee.identity) && strcmp(path, otherPath) == 0
    }
}

extension [RegisteredConnection] {
    /// Returns the position of the connection with that serial number; nil if it has ended.
    func index(of serial: UInt64) -> Int? {
        for index in 0..<count where self[index].serial == serial { return index }
        return nil
    }

    /// Returns another connection with the same main database; nil without one.
    func companion(
        of record: UnsafeMutablePointer<failure_artifacts_connection>
    ) -> RegisteredConnection? {
        let key = RegisteredConnection.storeKey(of: record)
        for index in 0..<count
        where self[index].storeKey == key && self[index].record != record
            && self[index].hasSameStore(as: record)
        {
            return self[index]
        }
        return nil
    }
}
