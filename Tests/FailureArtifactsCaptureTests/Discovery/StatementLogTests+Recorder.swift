import CFailureArtifactsShared
import CFailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsBundle
@testable import FailureArtifactsCapture

// The log in the file of the flight recorder, as another process would read it.
extension StatementLogTests {
    /// Runs `body` while new logs are in a file.
    private func withRecorder(
        hasChunks: Bool = true, _ body: (_ path: String) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/recorder"
            let file = try File(creating: path)
            let recorder = try #require(failure_artifacts_recorder_open(file.descriptor, hasChunks))
            defer { failure_artifacts_recorder_close(recorder) }
            try body(path)
        }
    }

    /// The statements of a connection in a file.
    private func statements(in path: String, of connection: UInt64) throws -> [StatementRecord] {
        try RecorderFile(at: path).statements(of: []).connections
            .first { $0.first?.connection == connection }?.statements(before: nil).map(\.record) ?? []
    }

    @Test func theFileHasTheSameStatements() throws {
        try withRecorder { path in
            try withConnection(statements: 200) { handle in
                try handle.run("CREATE TABLE t(a UNIQUE)")
                for number in 0..<3000 {
                    #expect(handle.text("SELECT \(number)") == "\(number)")
                    if number % 1000 == 0 { try handle.run("INSERT INTO t VALUES (\(number))") }
                }
                #expect(handle.failure(of: "INSERT INTO t VALUES (2000)") != nil)
                let serial = try handle.discovered.serial
                let (live, read) = (try statements(handle), try statements(in: path, of: serial))
                #expect(
                    live.count { $0.repeated == nil } == 200
                        && live.last?.error?.code == SQLITE_CONSTRAINT | 8 << 8)
                // The last statement's changes and pages are known only to the connection itself.
                #expect(live.dropLast() == read.dropLast())
                #expect(live.last?.order == read.last?.order && read.last?.error == live.last?.error)
                #expect(read.last?.stack == live.last?.stack)
            }
        }
    }

    /// With redaction rules, no statement is in the file.
    @Test func theFileMayHaveNoStatements() throws {
        try withRecorder(hasChunks: false) { first in
            try withConnection(statements: 200) { handle in
                try handle.run("CREATE TABLE t(a)")
                let serial = try handle.discovered.serial
                #expect(try statements(in: first, of: serial).isEmpty)
                try withRecorder { second in
                    // From the next test on, the statements of an older connection are there too.
                    _ = ConnectionRegistry.shared.beginKeeping(maximumBytes: 0)
                    defer { ConnectionRegistry.shared.endKeeping() }
                    try handle.run("SELECT 1")
                    #expect(try statements(in: second, of: serial).map(\.sql) == ["SELECT 1"])
                    #expect(
                        try statements(handle).map(\.sql) == ["CREATE TABLE t(a)", "SELECT 1"])
                }
            }
        }
    }

    /// The place of a connection that has ended is used again.
    @Test func endedConnectionsLeaveTheFile() throws {
        try withRecorder { path in
            ConnectionRegistry.shared.configureLog(statements: 10)
            defer { ConnectionRegistry.shared.configureLog(statements: 0) }
            for _ in 0..<3000 {
                let handle = try ApplicationHandle(":memory:")
                #expect(handle.text("SELECT 'secret'") == "secret")
                handle.close()
            }
            // Tests on other threads have connections, too. The logs of the last ones may be kept.
            let own = try RecorderFile(at: path).statements(of: []).connections.filter { connection in
                connection.statements(before: nil).contains { $0.record.sql == "SELECT 'secret'" }
            }
            #expect(own.count < 100)
        }
    }

    /// Returns the content of a recorder's file, without the slots behind the chunks.
    private func withoutSlots(_ path: String) throws -> [UInt8] {
        try File(reading: path).bytes(Int(failure_artifacts_recorder_size), at: 0)
    }

    /// A thread may have taken a chunk, and not have begun to write to it.
    @Test func anUnusedChunkHidesNoOther() throws {
        try withRecorder { path in
            try withConnection(statements: 10) { handle in
                try handle.run("CREATE TABLE t(a)")
                let others = try (0..<20).map { _ in try ApplicationHandle(":memory:") }
                defer { for other in others { other.close() } }
                for other in others { try other.run("CREATE TABLE u(a)") }
                var bytes = try withoutSlots(path)
                let size = Int(failure_artifacts_chunk_size)
                let start = Int(failure_artifacts_recorder_size) / 5 / 4096 * 4096 + 4096
                func offset(_ serial: UInt64) -> Int? {
                    stride(from: start, to: start + 200 * size, by: size).first { offset in
                        bytes.withUnsafeBytes {
                            $0.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self) == serial
                        }
                    }
                }
                let place = try #require(offset(handle.discovered.serial))
                // Tests on other threads have connections, too, and leave places in between.
                let later = try others.map { try $0.discovered.serial }
                    .filter { try #require(offset($0)) > place }
                try #require(!later.isEmpty)
                bytes.replaceSubrange(place..<place + 8, with: repeatElement(0, count: 8))
                let copy = path + ".copy"
                try FileSystem.write(Array(bytes.prefix(start + 200 * size)), toNewFile: copy)
                #expect(try statements(in: copy, of: handle.discovered.serial).isEmpty)
                for serial in later {
                    #expect(try statements(in: copy, of: serial).map(\.sql) == ["CREATE TABLE u(a)"])
                }
            }
        }
    }
}
