import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Stores that are too large, too many or missing.
@Suite struct LimitTests {
    init() { ConnectionRegistry.shared.install() }

    @Test func aVanishedStoreIsDescribed() throws {
        try withTemporaryDirectory { directory in
            let vanished = capture(DiscoveredStore(path: directory + "/gone.sqlite"), in: directory)
            #expect(vanished.method == .described && vanished.reason?.contains("gone.sqlite") == true)
        }
    }

    @Test(arguments: [false, true])
    func aStoreOverTheLimitIsDescribed(isInTransaction: Bool) throws {
        try withTemporaryDirectory { directory in
            for path in [directory + "/large.sqlite", ":memory:", ""] {
                let application = try ApplicationHandle(path)
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(100000))")
                if isInTransaction { try application.run("BEGIN; INSERT INTO t VALUES (1)") }
                let large = try Witness.undisturbed(application, path: path.contains("/") ? path : nil) {
                    capture(try application.store, in: directory, maximumBytes: 50_000)
                }
                #expect(large.method == .described && large.excessiveBytes == 106_496, "\(path)")
                #expect(large.reason?.contains("more than the 50000") == true)
                #expect(!FileManager.default.fileExists(atPath: directory + "/copy.sqlite"))
            }
        }
    }

    /// The WAL counts too: its content becomes part of the copy.
    @Test func aStoreThatIsOverTheLimitWithItsWALIsDescribed() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/large.sqlite"
            let application = try ApplicationHandle(path)
            try application.run(
                """
                PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(a);
                INSERT INTO t VALUES (zeroblob(100000))
                """)
            #expect(FileSystem.regularFile(path)?.size == 4096)
            let large = capture(try application.store, in: directory, maximumBytes: 50_000)
            #expect(large.method == .described && large.excessiveBytes == 106_496)
        }
    }

    /// If the copy does not fit, no strategy leaves a partial copy, and the reason is reported.
    @Test(arguments: ["pageCache", "ownConnection", "fileCopy", "memory"])
    func aFullDiskIsSaid(way: String) throws {
        try withTemporaryDirectory { directory in
            let place = directory + "/full"
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
            // Only root may mount. If that fails, the integration tests cover this case with a limit of file sizes.
            guard try run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place).isEmpty else {
                return
            }
            defer { _ = try? run("umount", "-l", place) }
            let application = try ApplicationHandle(
                way == "memory" ? ":memory:" : directory + "/shop.sqlite")
            if way == "ownConnection" { try application.run("PRAGMA journal_mode = wal") }
            try application.fill()
            if way == "pageCache" { try application.run("BEGIN; DELETE FROM big WHERE id = 1") }

            let storeCopy = try Witness.undisturbed(
                application, path: way == "memory" ? nil : directory + "/shop.sqlite"
            ) {
                capture(try application.store, in: place, timeLimit: 0.3)
            }

            #expect(storeCopy.method == .described && !storeCopy.hasCommittedCopy)
            let reason = storeCopy.reason ?? ""
            #expect(reason.contains("No space left") || reason.contains("full"), "\(reason)")
            #expect(try FileSystem.contents(ofDirectory: place) == [])
        }
    }
}
