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
@Suite struct AdapterStoreTests {
    private typealias World = SessionWorld

    /// The content of an external file is unknown, so redaction leaves it out.
    @Test(arguments: [false, true]) func externalFilesAreAttached(isRedacted: Bool) throws {
        let world = try World { if isRedacted { $0.redactions = [.blank("b", of: "t")] } }
        let path = world.directory + "/ledger.sqlite"
        let file = world.directory + "/external"
        try FileSystem.write([1, 2, 3], toNewFile: file)
        world.session.addSource {
            [AdapterStore(path: path) { [.init(name: "blob", path: file)] }]
        }
        let test = world.start()
        world.fail(test, "first")
        world.finish(test)
        let bundle = try world.bundle()
        #expect(try world.rows(bundle) == 1)
        #expect(bundle.metadata.attachments.map(\.entry) == (isRedacted ? [] : ["attachments/blob"]))
        #expect(bundle.metadata.warnings.map(\.code) == (isRedacted ? ["external-files-left-out"] : []))
    }

    /// A store that is neither open nor registered is captured if its library knows it.
    @Test func aLibrarysStoreIsFound() throws {
        let world = try World { $0.discoversStores = true }
        let other = world.directory + "/only-library.sqlite"
        try FileSystem.copy(world.directory + "/ledger.sqlite", toNewFile: other)
        world.session.addSource { [AdapterStore(path: other)] }
        let test = world.start()
        world.fail(test, "first")
        world.finish(test)
        let bundle = try world.bundle()
        #expect(try bundle.rows(ofFirstTableIn: "only-library") == 1)
    }

    // MARK: Stores that were closed

    /// An object that has stores open.
    private final class Owner {}

    @Test(arguments: [true, false])
    func storeThatTheLibraryHasClosedIsCapturedFromItsFile(isRemoved: Bool) throws {
        let world = try World { $0.discoversStores = true }
        let path = world.directory + "/closed.sqlite"
        try FileSystem.copy(world.directory + "/ledger.sqlite", toNewFile: path)
        // Core Data's folder for values that it stores in files.
        let folder = world.directory + "/.closed_SUPPORT/_EXTERNAL_DATA"
        try FileSystem.createDirectory(folder)
        try FileSystem.write([1, 2, 3], toNewFile: folder + "/blob")
        let seen = SeenStores()
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
        #expect(try bundle.rows(ofFirstTableIn: "closed") == 1)
        #expect(
            bundle.metadata.attachments.map(\.entry) == ["attachments/closed_EXTERNAL_DATA-blob"])
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
        let (isDone, hasEnded) = (Lock(false), Lock(false))
        let isStarted = Threads.detach {
            while !isDone.withLock({ $0 }) {
                _ = seen.owners
                _ = seen.closedStores(besides: [])
            }
            hasEnded.withLock { $0 = true }
        }
        for _ in 0..<200 {
            let owners = (0..<20).map { _ in ReportingOwner(store, in: seen) }
            for owner in owners { seen.add(store, openIn: owner, by: test) }
        }
        isDone.withLock { $0 = true }
        #expect(isStarted && hasEnded.wait { $0 ? true : nil })
        #expect(seen.owners.isEmpty)
        #expect(seen.closedStores(besides: []).compactMap(\.path) == ["/a.sqlite"])
        world.finish(test)
        #expect(seen.closedStores(besides: []).isEmpty && seen.count == 0)
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
            [AdapterStore(describedAt: nil, named: "peaches", because: "It is in memory.", usedBy: test)]
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
            [
                AdapterStore(
                    describedAt: nil, named: "peaches", because: "It is in memory.", usedBy: other)
            ]
        }
        world.fail(test, "first")
        world.finish(test)
        world.finish(other)
        #expect(try !world.bundle().metadata.stores.map(\.name).contains("peaches"))
    }
}
