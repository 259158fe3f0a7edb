import FailureArtifactsReading
import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The copies that an adapter adds to its framework's own report, such as Xcode's result bundle.
@Suite struct ReportedCopiesTests {
    private typealias World = SessionWorld

    private let header = Array("SQLite format 3\u{0}".utf8)

    @Test func storeIsReportedOnce() throws {
        let world = try World()
        let test = world.start()
        #expect(world.session.newCopies(of: test).isEmpty)
        world.fail(test, "first")
        let copies = world.session.newCopies(of: test)
        #expect(copies.map(\.name) == ["ledger.sqlite", "failure.md"])
        #expect(copies.first?.content.starts(with: header) == true)
        let note = String(decoding: copies.last?.content ?? [], as: UTF8.self)
        #expect(note.hasPrefix("# A test failed\n\n    LedgerTests.testTotal\n    first\n"), "\(note)")
        #expect(world.session.newCopies(of: test).isEmpty)
        // Only the first failure is captured.
        try world.run("INSERT INTO t VALUES (2)")
        world.fail(test, "second")
        #expect(world.session.newCopies(of: test).isEmpty)
        world.finish(test)
    }

    @Test func committedVersionIsReportedIfATransactionIsOpen() throws {
        let world = try World { $0.discoversStores = true }
        try world.run("PRAGMA journal_mode = wal; BEGIN; INSERT INTO t VALUES (2)")
        let test = world.start()
        // Other tests in this process have stores of the same file name.
        test.state.withLock { $0.registered = [(world.directory + "/ledger.sqlite", "apricots")] }
        world.fail(test, "first")
        let copies = world.session.newCopies(of: test).filter { $0.name.hasPrefix("apricots") }
        #expect(copies.map(\.name) == ["apricots.sqlite", "apricots.committed.sqlite"])
        #expect(copies.allSatisfy { $0.content.starts(with: header) })
        #expect(Set(copies.map(\.content)).count == 2)
        world.finish(test)
    }

    @Test func externalFilesOfALibrarysStoreAreReportedAndOtherAttachmentsAreNot() throws {
        let world = try World()
        let path = world.directory + "/ledger.sqlite"
        let file = world.directory + "/external"
        try FileSystem.write([7, 8], toNewFile: file)
        world.session.addSource {
            [AdapterStore(path: path) { [.init(name: "ledger_EXTERNAL_DATA-1", path: file)] }]
        }
        let test = world.start()
        test.state.withLock { $0.attachments.append(("own", .bytes([9]))) }
        world.fail(test, "first")
        let copies = world.session.newCopies(of: test)
        #expect(copies.map(\.name) == ["ledger.sqlite", "ledger_EXTERNAL_DATA-1", "failure.md"])
        #expect(copies.dropFirst().first?.content == [7, 8])
        world.finish(test)
    }

    @Test func storeIsReportedAtEachFurtherFailureThatItHasChangedBefore() throws {
        let world = try World { $0.mode = .everyFailure }
        let test = world.start()
        world.fail(test, "first")
        let first = world.session.newCopies(of: test)
        // A snapshot that the test asks for isn't a failure's.
        try world.run("INSERT INTO t VALUES (2)")
        world.session.takeSnapshot("asked", of: test)
        try world.run("INSERT INTO t VALUES (3)")
        world.fail(test, "second")
        let second = world.session.newCopies(of: test)
        world.fail(test, "third")
        #expect(first.map(\.name) == ["ledger.sqlite", "failure.md"])
        #expect(second.map(\.name) == ["ledger.failure-2.sqlite"])
        #expect(first.first?.content != second.first?.content)
        #expect(world.session.newCopies(of: test).isEmpty)
        world.finish(test)
    }

    @Test func copyThatDoesNotFitIsNamed() throws {
        let world = try World { $0.mode = .everyFailure }
        let test = world.start()
        world.fail(test, "first")
        let size = try #require(FileSystem.regularFile(world.directory + "/ledger.sqlite")?.size)
        #expect(
            world.session.newCopies(of: test, maximumBytes: size).map(\.name)
                == ["ledger.sqlite", "failure.md"])
        try world.run("INSERT INTO t VALUES (2)")
        world.fail(test, "second")
        let copies = world.session.newCopies(of: test, maximumBytes: size)
        #expect(copies.map(\.name) == ["failure-artifacts.txt"])
        #expect(
            copies.map { String(decoding: $0.content, as: UTF8.self) } == [
                """
                Only the bundle that the test leaves has these copies, because a report takes at most \(size) bytes \
                for each test:
                ledger.failure-2.sqlite, \(size) bytes

                """
            ])
        world.finish(test)
    }

    @Test func redactedValuesAreNotReported() throws {
        let world = try World { $0.redactions = [.blank("a", of: "t")] }
        try world.run(
            "CREATE TABLE u(a); INSERT INTO u VALUES ('kept'); INSERT INTO t VALUES ('secret')")
        let test = world.start()
        world.fail(test, "first")
        let content = world.session.newCopies(of: test).first?.content ?? []
        let text = String(decoding: content, as: UTF8.self)
        #expect(text.contains("kept") && !text.contains("secret"))
        world.finish(test)
    }

    @Test func nothingIsReportedWhenTheTestHasEnded() throws {
        let world = try World()
        let test = world.start()
        world.fail(test, "first")
        world.finish(test)
        #expect(world.session.newCopies(of: test).isEmpty)
    }

    /// As by an asynchronous test, whose failures come on any thread.
    @Test func copiesAreReportedOnAnyThread() throws {
        let world = try World()
        let test = world.start()
        world.fail(test, "first")
        let names = Threads.map([0, 1, 2, 3]) { _ in world.session.newCopies(of: test).map(\.name) }
        #expect(names.flatMap(\.self) == ["ledger.sqlite", "failure.md"])
        world.finish(test)
    }
}
