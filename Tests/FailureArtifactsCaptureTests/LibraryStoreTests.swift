import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsZip
import Foundation
import Testing

@testable import FailureArtifactsCapture
@testable import FailureArtifactsCoreData

/// Stores that an adapter knows through a library, such as Core Data.
@Suite struct LibraryStoreTests {
    private typealias World = SessionWorld

    @Test(arguments: [false, true]) func aLibraryCopiesItsStore(isRedacted: Bool) throws {
        let world = try World { if isRedacted { $0.redactions = [.blank("b", of: "t")] } }
        let path = world.directory + "/ledger.sqlite"
        world.session.addSource {
            [
                LibraryStore(path: path) { target in
                    var handle: OpaquePointer?
                    defer { sqlite3_close_v2(handle) }
                    guard sqlite3_open(target, &handle) == SQLITE_OK,
                        // The content of the WAL belongs to the copy too.
                        sqlite3_exec(
                            handle,
                            "PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3)",
                            nil, nil, nil) == SQLITE_OK
                    else { throw CaptureError(description: "no copy") }
                    let file = Path.join(Path.directory(of: target), ".hidden")
                    try FileSystem.write([7, 8], toNewFile: file)
                    return [.init(name: "ledger_EXTERNAL_DATA-1", path: file)]
                }
            ]
        }
        let test = world.start()
        world.fail(test, "first")
        world.finish(test)
        let bundle = try world.bundle()
        #expect(try world.rows(bundle) == 3)
        #expect(try bundle.store(named: nil).store.originalPath == path)
        // The content of an external file is unknown, so redaction leaves it out.
        #expect(
            bundle.metadata.attachments.map(\.entry)
                == (isRedacted ? [] : ["attachments/ledger_EXTERNAL_DATA-1"]))
        #expect(bundle.metadata.warnings.map(\.code) == (isRedacted ? ["external-files-left-out"] : []))
    }

    /// If its library fails, the store is copied like any other store.
    @Test(arguments: [true, false]) func aLibraryThatFails(throwing: Bool) throws {
        let world = try World()
        let path = world.directory + "/ledger.sqlite"
        world.session.addSource {
            [
                LibraryStore(path: path) { _ in
                    if throwing { throw CaptureError(description: "it is away") }
                    return []
                }
            ]
        }
        let test = world.start()
        world.fail(test, "first")
        world.finish(test)
        let bundle = try world.bundle()
        #expect(try world.rows(bundle) == 1)
        let reason = throwing ? "it is away" : "it left no file"
        #expect(
            bundle.metadata.warnings == [
                CaptureWarning(
                    .storeCopiedWithoutLibrary,
                    "The library of the store 'ledger' did not copy it (\(reason)), so its file was copied instead.",
                    ["store": "ledger"])
            ])
    }

    /// A store that is neither open nor registered is captured if its library knows it.
    @Test func aLibrarysStoreIsFound() throws {
        let world = try World { $0.discoversStores = true }
        let other = world.directory + "/only-library.sqlite"
        world.session.addSource {
            [
                LibraryStore(path: other) { target in
                    try FileSystem.copy(world.directory + "/ledger.sqlite", toNewFile: target)
                    return []
                }
            ]
        }
        let test = world.start()
        world.fail(test, "first")
        world.finish(test)
        let bundle = try world.bundle()
        #expect(try bundle.store(named: "only-library").store.tables?.first?.rows == 1)
    }

    // MARK: The time limit

    /// A library whose copy waits until it is released, as if for a lock that the failing test holds.
    private final class StuckLibrary: Sendable {
        private struct State {
            var isReleased = false
            var isWriting = true
            var copies = 0
            var directory = ""
        }

        private let state = ConditionLock(State())

        var copies: Int { state.withLock(\.copies) }
        var directory: String { state.withLock(\.directory) }
        /// True until the copy has written its file.
        var isWriting: Bool { state.withLock(\.isWriting) }

        func copy(to target: String) throws -> [LibraryStore.ExternalFile] {
            state.update { state in
                state.copies += 1
                state.directory = Path.directory(of: target)
            }
            state.wait { $0.isReleased ? () : nil }
            defer { state.update { $0.isWriting = false } }
            try FileManager.default.createDirectory(
                atPath: Path.directory(of: target), withIntermediateDirectories: true)
            try FileSystem.write([1], toNewFile: target)
            return []
        }

        func release() { state.update { $0.isReleased = true } }
    }

    @Test func copyThatTakesTooLongIsReplacedByACopyOfTheFile() throws {
        let world = try World {
            $0.mode = .everyFailure
            $0.timeLimitPerStore = 0.4
        }
        let path = world.directory + "/ledger.sqlite"
        let library = StuckLibrary()
        defer { library.release() }
        world.session.addSource {
            [LibraryStore(path: path) { try library.copy(to: $0) }]
        }
        let test = world.start()
        let start = Instant.now
        world.fail(test, "first")
        #expect((0.2..<2).contains(start.elapsed))
        // The first copy is still waiting, so no other is started.
        world.fail(test, "second")
        #expect(library.copies == 1)
        #expect(!FileManager.default.fileExists(atPath: library.directory))
        world.finish(test)
        let bundle = try world.bundle()
        #expect(try world.rows(bundle) == 1)
        let fallbacks = bundle.metadata.warnings.filter { $0.is(.storeCopiedWithoutLibrary) }
        #expect(
            fallbacks == [
                CaptureWarning(
                    .storeCopiedWithoutLibrary,
                    "The library of the store 'ledger' did not copy it (it took more than 0.2 s), so its file was "
                        + "copied instead.",
                    ["store": "ledger", "limit": "CaptureConfiguration.timeLimitPerStore"]),
                CaptureWarning(
                    .storeCopiedWithoutLibrary,
                    "The library of the store 'ledger' did not copy it (an earlier copy has not ended yet), so its "
                        + "file was copied instead.",
                    ["store": "ledger"]),
            ])
        // What the late copy writes is removed.
        library.release()
        let deadline = Instant.now.advanced(bySeconds: 10)
        while library.isWriting || FileManager.default.fileExists(atPath: library.directory),
            Instant.now < deadline
        { sleep(microseconds: 1000) }
        #expect(!library.isWriting && !FileManager.default.fileExists(atPath: library.directory))
    }

    @Test func copyIsMadeOnAnotherThread() throws {
        let world = try World()
        let path = world.directory + "/ledger.sqlite"
        let thread = Lock(false)
        let own = pthread_self()
        world.session.addSource {
            [
                LibraryStore(path: path) { target in
                    thread.withLock { $0 = pthread_equal(pthread_self(), own) == 0 }
                    try FileSystem.copy(path, toNewFile: target)
                    return []
                }
            ]
        }
        let test = world.start()
        world.fail(test, "first")
        world.finish(test)
        #expect(thread.withLock { $0 })
        #expect(try world.bundle().metadata.warnings == [])
    }

    @Test func externalFilesOfTheStoreAreKeptIfTheLibraryFails() throws {
        let world = try World()
        let path = world.directory + "/ledger.sqlite"
        let file = world.directory + "/external"
        try FileSystem.write([1, 2, 3], toNewFile: file)
        world.session.addSource {
            [
                LibraryStore(path: path, externalFiles: { [.init(name: "blob", path: file)] }) { _ in
                    throw CaptureError(description: "it is away")
                }
            ]
        }
        let test = world.start()
        world.fail(test, "first")
        world.finish(test)
        #expect(try world.bundle().metadata.attachments.map(\.entry) == ["attachments/blob"])
    }

    // MARK: Stores that were closed

    /// An object that has stores open.
    private final class Owner {}

    @Test(arguments: [true, false])
    func storeThatTheLibraryHasClosedIsCapturedFromItsFile(isRemoved: Bool) throws {
        let world = try World { $0.discoversStores = true }
        let path = world.directory + "/closed.sqlite"
        try FileSystem.copy(world.directory + "/ledger.sqlite", toNewFile: path)
        let file = world.directory + "/external"
        try FileSystem.write([1, 2, 3], toNewFile: file)
        let seen = SeenStores { _ in [.init(name: "blob", path: file)] }
        world.session.addSource { seen.closedStores(besides: []) }
        let test = world.start()
        let store = SeenStore(path: path, name: "closed", reasonForNoContent: nil)
        var owner: Owner? = Owner()
        seen.add(store, openIn: try #require(owner), by: test)
        #expect(seen.closedStores(besides: []).isEmpty)
        if isRemoved {
            seen.remove(store, from: ObjectIdentifier(try #require(owner)), by: test)
        } else {
            owner = nil
        }
        #expect(seen.closedStores(besides: [path]).isEmpty)
        world.fail(test, "first")
        world.finish(test)
        let bundle = try world.bundle()
        #expect(try bundle.store(named: "closed").store.tables?.first?.rows == 1)
        #expect(bundle.metadata.attachments.map(\.entry) == ["attachments/blob"])
        withExtendedLifetime(owner) {}
    }

    @Test func closedStoreOfAnotherTestIsNotCaptured() throws {
        let world = try World { $0.discoversStores = true }
        let path = world.directory + "/closed.sqlite"
        try FileSystem.copy(world.directory + "/ledger.sqlite", toNewFile: path)
        let seen = SeenStores()
        world.session.addSource { seen.closedStores(besides: []) }
        let (test, other) = (world.start(), world.start("testOther"))
        seen.add(
            SeenStore(path: path, name: "closed", reasonForNoContent: nil), openIn: Owner(), by: other)
        #expect(seen.closedStores(besides: []).count == 1)
        world.fail(test, "first")
        world.finish(test)
        world.finish(other)
        let stores = try world.bundle().metadata.stores.map(\.name)
        #expect(stores.contains("ledger") && !stores.contains("closed"))
    }

    @Test func closedStoreWhoseFileIsGoneIsNotCaptured() throws {
        let world = try World { $0.discoversStores = true }
        let seen = SeenStores()
        world.session.addSource { seen.closedStores(besides: []) }
        let test = world.start()
        let store = SeenStore(
            path: world.directory + "/gone.sqlite", name: "gone", reasonForNoContent: nil)
        seen.add(store, openIn: Owner(), by: test)
        world.fail(test, "first")
        world.finish(test)
        #expect(try !world.bundle().metadata.stores.map(\.name).contains("gone"))
    }

    @Test func storesAreForgottenWhenTheirTestHasEnded() throws {
        let world = try World()
        let seen = SeenStores()
        let owner = Owner()
        for name in ["a", "b"] {
            let test = world.start(name)
            let store = SeenStore(path: "/\(name)", name: name, reasonForNoContent: nil)
            seen.add(store, openIn: owner, by: test)
            seen.add(store, openIn: Owner(), by: test)
            world.finish(test)
        }
        // Those of the owner that still exists are open.
        #expect(seen.closedStores(besides: []).isEmpty)
        #expect(seen.count == 2)
        #expect(seen.owners.count == 1 && seen.owners.first === owner)
    }

    @Test func numberOfStoresIsLimited() throws {
        let world = try World()
        let seen = SeenStores(maximumCount: 3)
        let owner = Owner()
        let test = world.start()
        for number in 0..<9 {
            seen.add(
                SeenStore(path: "/\(number)", name: "\(number)", reasonForNoContent: nil),
                openIn: number == 0 ? owner : Owner(), by: test)
        }
        #expect(seen.count == 3)
        // The closed ones go first.
        #expect(seen.owners.count == 1)
        #expect(seen.closedStores(besides: []).compactMap(\.path) == ["/7", "/8"])
        world.finish(test)
    }

    /// An object that reports the end of its store while it is deallocated, as a coordinator may.
    private final class ReportingOwner {
        let seen: SeenStores
        let store: SeenStore

        init(_ store: SeenStore, in seen: SeenStores) { (self.store, self.seen) = (store, seen) }

        deinit { seen.remove(store, from: ObjectIdentifier(self), by: nil) }
    }

    @Test func ownersMayEndOnAnyThreadAndReportIt() throws {
        let world = try World()
        let test = world.start()
        let seen = SeenStores()
        let store = SeenStore(path: "/a.sqlite", name: "a", reasonForNoContent: nil)
        let isDone = Lock(false)
        Threads.withWorkers(1) {
            while !isDone.withLock({ $0 }) {
                _ = seen.owners
                _ = seen.closedStores(besides: [])
            }
        } _: { _ in
            for _ in 0..<200 {
                let owners = (0..<20).map { _ in ReportingOwner(store, in: seen) }
                for owner in owners { seen.add(store, openIn: owner, by: test) }
            }
            isDone.withLock { $0 = true }
        }
        #expect(seen.owners.isEmpty)
        #expect(seen.closedStores(besides: []).compactMap(\.path) == ["/a.sqlite"])
        world.finish(test)
        #expect(seen.closedStores(besides: []).isEmpty && seen.count == 0)
    }

    @Test func copiesAreNotSeenAsStores() {
        let seen = SeenStores()
        let owner = Owner()
        let directory = "/tmp/" + LibraryCopier.directoryPrefix + "1"
        let isAdded = seen.add(
            SeenStore(path: directory + "/a.sqlite", name: "a", reasonForNoContent: nil), openIn: owner,
            by: nil)
        #expect(!isAdded)
        #expect(seen.count == 0)
    }

    // MARK: Stores without content

    @Test func storeWithoutContentIsDescribed() throws {
        let world = try World { $0.discoversStores = true }
        let seen = SeenStores()
        let owner = Owner()
        let test = world.start()
        let memory = SeenStore(path: nil, name: "peaches", reasonForNoContent: "It is in memory.")
        let null = SeenStore(
            path: "/dev/null", name: "peaches", reasonForNoContent: "Its file is /dev/null.")
        seen.add(memory, openIn: owner, by: test)
        seen.add(null, openIn: Owner(), by: test)
        world.session.addSource {
            [.described(nil, named: "peaches", because: "It is in memory.", usedBy: test)]
                + seen.closedStores(besides: [])
        }
        world.fail(test, "first")
        world.finish(test)
        let metadata = try world.bundle().metadata
        let stores = metadata.stores.filter { $0.name.hasPrefix("peaches") }
        try #require(stores.map(\.originalPath) == [nil, "/dev/null"])
        #expect(stores.map(\.entry) == [nil, nil])
        #expect(stores.map(\.capture.method) == ["described", "described"])
        let reasons = metadata.warnings.map(\.text).filter { $0.hasPrefix("The store 'peaches") }
        #expect(
            reasons == [
                "The store 'peaches' was not copied. It is in memory.",
                "The store '\(stores[1].name)' was not copied. Its file is /dev/null. It was closed before the "
                    + "failure.",
            ])
    }

    @Test func storeWithoutContentOfAnotherRunningTestIsNotDescribed() throws {
        let world = try World { $0.discoversStores = true }
        let (test, other) = (world.start(), world.start("testOther"))
        world.session.addSource {
            [.described(nil, named: "peaches", because: "It is in memory.", usedBy: other)]
        }
        world.fail(test, "first")
        world.finish(test)
        world.finish(other)
        #expect(try !world.bundle().metadata.stores.map(\.name).contains("peaches"))
    }
}
