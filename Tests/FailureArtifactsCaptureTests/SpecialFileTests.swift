import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Pipes and devices where the application names files.
@Suite(.timeLimit(.minutes(1))) struct SpecialFileTests {
    init() { ConnectionRegistry.shared.install() }

    @Test func attachedPipesAndDevicesAreDescribedAndNotRead() throws {
        let world = try SessionWorld()
        let pipe = world.directory + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let test = world.start()
        for path in [pipe, "/dev/zero", world.directory] {
            test.state.withLock { $0.attachments.append((Path.name(of: path), .file(path))) }
        }
        world.fail(test, "m")
        world.finish(test)
        let metadata = try world.bundle().metadata
        #expect(metadata.attachments.map(\.entry) == [nil, nil, nil])
        let warnings = metadata.warnings.filter { $0.is(.attachmentNotKept) }
        #expect(warnings.count == 3)
        #expect(warnings.first?.text.contains("'\(pipe)' is a pipe or a device") == true)
    }

    @Test func anAttachmentThatIsBeingWrittenHasTheSizeOfItsStart() throws {
        let world = try SessionWorld()
        let path = world.directory + "/log"
        try FileSystem.write([UInt8](repeating: 7, count: 32 << 20), toNewFile: path)
        let isDone = Lock(false)
        let writer = DispatchGroup()
        writer.enter()
        Thread.detachNewThread {
            defer { writer.leave() }
            guard let file = try? File(updating: path) else { return }
            let block = [UInt8](repeating: 7, count: 64 << 10)
            var offset: UInt64 = 32 << 20
            // The limit spares the disk if the copy has no end.
            while !isDone.withLock(\.self), offset < 1 << 30 {
                try? block.withBytes { (bytes) throws(SystemError) in
                    try file.write(bytes, at: offset)
                }
                offset += UInt64(block.count)
                usleep(200)
            }
        }
        while FileSystem.regularFile(path)?.size ?? 0 <= 32 << 20 { usleep(1000) }
        let test = world.start()
        test.state.withLock { $0.attachments.append(("log", .file(path))) }
        world.fail(test, "m")
        isDone.withLock { $0 = true }
        writer.wait()
        world.finish(test)
        let bundle = try world.bundle()
        let attachment = try #require(bundle.metadata.attachments.first)
        let entry = try #require(bundle.archive.entries.first { $0.name == attachment.entry })
        #expect(attachment.bytes >= 32 << 20 && entry.size == attachment.bytes)
    }

    @Test(arguments: ["delete", "wal"])
    func aStoreWhosePathIsAPipeIsCopiedThroughItsConnection(mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run(
                "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            try FileSystem.remove(path)
            try #require(mkfifo(path, 0o600) == 0)
            let copies = directory + "/copies"
            try FileSystem.createDirectory(copies)
            let snapshot = capture(try application.store, in: copies)
            #expect(snapshot.method == .ownConnection && snapshot.reason == nil)
            #expect(snapshot.warningCodes == [.storeFileReplaced])
            #expect(try copied(copies) == "1")
        }
    }

    @Test(arguments: ["", "-journal", "-wal"])
    func aRegisteredStoreWithAPipeIsDescribed(suffix: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            if !suffix.isEmpty {
                let application = try ApplicationHandle(path)
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                application.close()
            }
            try #require(mkfifo(path + suffix, 0o600) == 0)
            let copies = directory + "/copies"
            try FileSystem.createDirectory(copies)
            let snapshot = capture(DiscoveredStore(path: path), in: copies)
            #expect(snapshot.method == .described)
            #expect(
                snapshot.reason == "'\(path + suffix)' is a pipe or a device, which is not read.")
        }
    }
}
