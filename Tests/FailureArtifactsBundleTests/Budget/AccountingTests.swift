import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// What may be put into a directory, by whoever comes at the same time.
@Suite struct AccountingTests {
    private func limits(
        total: UInt64 = 1 << 30, bundle: UInt64 = 1 << 30, bundles: Int = 1000, free: UInt64 = 0
    ) -> DirectoryLimits {
        DirectoryLimits(
            storeBytes: 1 << 30, bundleBytes: bundle, totalBytes: total, bundles: bundles,
            freeBytes: free)
    }

    @Test func whatIsGrantedToManyAtOnceIsNeverMoreThanThereIs() throws {
        let place = try Place()
        let limits = limits(total: 1 << 20, bundles: 40)
        let directory = place.directory
        let rooms = Lock<[SpoolRoom]>([])
        let granted = Lock<UInt64>(0)
        // Threads of their own: a queue would have one for each core.
        let group = DispatchGroup()
        for _ in 0..<48 {
            group.enter()
            let thread = Thread {
                defer { group.leave() }
                guard let room = try? SpoolRoom(in: directory, within: limits) else { return }
                rooms.withLock { $0.append(room) }
                while room.take(100) { granted.withLock { $0 += 100 } }
            }
            thread.start()
        }
        group.wait()
        #expect(rooms.withLock(\.count) == 40)
        let (taken, content) = (granted.withLock(\.self), limits.totalContentBytes)
        #expect(taken <= content && taken > content - 40 * 5000)
        #expect(try place.directory.usage().bytes <= limits.totalBytes)
        try place.check()
        for room in rooms.withLock(\.self) { place.directory.discard(room.spool) }
        // With the last of them goes all there was.
        #expect(try FileSystem.status(of: place.root) == nil)
    }

    @Test func aBundleTakesThePlaceOfItsCapture() throws {
        let place = try Place()
        let limits = limits()
        for _ in 0..<3 { try place.publish(noise(3 << 20), limits: limits) }
        try place.check()
        #expect(place.account?.bundles == 3 && place.account?.captures == 0)
        let account = place.account
        #expect(try #require(account).bundleBytes > 9 << 20)
    }

    /// A failure after a bundle has its name is none of the bundle's: a second one would be made of the capture.
    @Test func aBundleIsThereWhateverBecomesOfItsAccount() throws {
        let place = try Place()
        let (directory, root) = (place.directory, place.root)
        let room = try SpoolRoom(in: directory, within: limits())
        let (file, target) = (try room.spool.path(ofEntry: "bundle"), Path.join(root, "a.zip"))
        try FileSystem.write(noise(3000), toNewFile: file)
        try room.spool.recordBundleName("a.zip")
        directory.recount()
        var wasPublished = false
        try directory.count(room.spool, asBundle: file, within: limits()) { () throws(SystemError) in
            try FileSystem.renameExclusively(file, to: target)
            // Now nobody can look at the directory.
            try FileSystem.rename(root, to: root + "-aside")
            wasPublished = symlink(root, root) == 0
        }
        #expect(wasPublished && unlink(root) == 0)
        try FileSystem.rename(root + "-aside", to: root)
        directory.discard(room.spool)
        #expect(try place.bundles == ["a.zip"])
        try place.check()
    }

    @Test func whoComesFirstGetsIt() throws {
        let place = try Place()
        let limits = limits(total: 1 << 20)
        let content = noise(200_000)
        for _ in 0..<4 {
            guard (try? place.publish(content, limits: limits)) != nil else { break }
        }
        let room = try SpoolRoom(in: place.directory, within: limits)
        #expect(!room.take(200_000) && room.limit == .totalBytes)
        // A description always has its place.
        _ = try place.directory.publish(
            place.metadata([]), from: room.spool, within: limits, sharing: false)
        place.directory.discard(room.spool)
        #expect(try place.bundles.count == 4)
        try place.check()
    }

    @Test func theNumberOfBundlesIsKept() throws {
        let place = try Place()
        let limits = limits(bundles: 2)
        let first = try SpoolRoom(in: place.directory, within: limits)
        try place.publish([1], limits: limits)
        let error = #expect(throws: LimitReached.self) {
            _ = try SpoolRoom(in: place.directory, within: limits)
        }
        #expect(error?.limit == .bundles)
        place.directory.discard(first.spool)
        try place.publish([1], limits: limits)
        #expect(throws: LimitReached.self) { _ = try SpoolRoom(in: place.directory, within: limits) }
        // Somebody makes room.
        try FileSystem.remove(Path.join(place.root, try #require(try place.bundles.first)))
        try place.publish([1], limits: limits)
        try place.check()
    }

    @Test func whatWasDeletedByHandIsFreeAgain() throws {
        let place = try Place()
        let limits = limits(total: 1 << 20)
        let content = noise(300_000)
        while (try? place.publish(content, limits: limits)) != nil {}
        let count = try place.bundles.count
        #expect(count > 1)
        for name in try place.bundles.prefix(1) { try FileSystem.remove(Path.join(place.root, name)) }
        try place.publish(content, limits: limits)
        #expect(throws: (any Error).self) { try place.publish(content, limits: limits) }
        #expect(try place.bundles.count == count)
    }

    @Test(arguments: ["", "nonsense", "torn", "missing"])
    func anAccountThatCannotBeReadIsMadeAnew(content: String) throws {
        let place = try Place()
        let limits = limits(bundles: 3)
        for _ in 0..<2 { try place.publish(noise(1000), limits: limits) }
        let path = Path.join(place.root, AccountFile.name)
        var bytes = try FileSystem.contents(ofFile: path)
        try FileSystem.remove(path)
        switch content {
        case "torn":
            bytes[9] ^= 1
            try FileSystem.write(bytes, toNewFile: path)
        case "missing": break
        default: try FileSystem.write(Array(content.utf8), toNewFile: path)
        }
        try place.publish([1], limits: limits)
        try place.check()
        #expect(throws: LimitReached.self) { _ = try SpoolRoom(in: place.directory, within: limits) }
    }

    /// The numbers are too high, never too low, whatever step a process dies after; a look at the directory
    /// corrects them.
    @Test func whoDiesInBetweenLeavesNothingTakenForGood() throws {
        let place = try Place()
        let limits = limits(total: 8 << 20, bundles: 2)
        try place.publish(noise(1000), limits: limits)
        do {
            let file = try AccountFile(in: place.root, creating: false)
            var account = try #require(try file.account())
            // A capture and a bundle that were counted and did not come.
            account.add(capture: 6 << 20)
            account.add(bundle: 1 << 20)
            account.leftOut = 5
            try file.write(account)
        }
        let room = try SpoolRoom(in: place.directory, within: limits)
        #expect(room.take(5 << 20))
        #expect(place.directory.failuresLeftOut == 5)
        try place.check()
        place.directory.discard(room.spool)
    }

    /// Salvage has its capture to pack yet.
    @Test func theCaptureOfADeadProcessCountsUntilItIsSwept() throws {
        let place = try Place()
        let limits = limits(total: 1 << 20, bundles: 10)
        let dead = ProcessIdentity(number: .max, start: 7)
        let process = HiddenName("spool", of: dead, random: "abcdef").description
        let spool = try #require(Spool(at: place.root + "/.in-flight/" + process))
        try FileSystem.createDirectory(spool.path)
        try spool.recordClaim(700_000)
        let room = try SpoolRoom(in: place.directory, within: limits)
        #expect(!room.take(100_000))
        #expect(room.take(50_000))
        place.directory.discard(room.spool)
        _ = Salvage(of: place.directory, limits: limits).sweep()
        let other = try SpoolRoom(in: place.directory, within: limits)
        #expect(other.take(700_000))
        place.directory.discard(other.spool)
    }

    /// It is known that they will soon be done.
    @Test func whatOthersAreAboutToGiveBackIsWaitedFor() throws {
        let place = try Place()
        let limits = limits(total: 1 << 20)
        let directory = place.directory
        let first = try SpoolRoom(in: directory, within: limits)
        #expect(first.take(700_000))
        let second = try SpoolRoom(in: directory, within: limits)
        #expect(!second.take(100_000))
        let isDone = Lock(false)
        let thread = Thread {
            directory.discard(first.spool)
            isDone.withLock { $0 = true }
        }
        thread.start()
        #expect(second.take(100_000, until: .now.advanced(bySeconds: 60)))
        while !isDone.withLock(\.self) { sleep(microseconds: 1000) }
        directory.discard(second.spool)
    }

    @Test func aBundleIsNoLargerThanItMayBe() throws {
        let place = try Place()
        let limits = limits(bundle: 400_000)
        let room = try SpoolRoom(in: place.directory, within: limits)
        #expect(room.take(200_000) && !room.take(150_000) && room.limit == .bundleBytes)
        // What was not counted is noticed when it is packed.
        try FileSystem.write(noise(500_000), toNewFile: room.spool.path(ofEntry: "stores/a.sqlite"))
        let error = #expect(throws: LimitReached.self) {
            _ = try place.directory.publish(
                place.metadata(["stores/a.sqlite"]), from: room.spool, within: limits, sharing: false)
        }
        #expect(error?.limit == .bundleBytes)
        #expect(try place.bundles == [])
        place.directory.discard(room.spool)
    }

    @Test func whatIsToBeLeftFreeIsLeftFree() throws {
        let place = try Place()
        let free = try #require(FileSystem.freeBytes(ofVolumeAt: place.root))
        let room = try SpoolRoom(in: place.directory, within: limits(free: free &+ 1 << 30))
        #expect(!room.take(1) && room.limit == .freeBytes)
        place.directory.discard(room.spool)
        let other = try SpoolRoom(in: place.directory, within: limits(free: 1))
        #expect(other.take(1))
        place.directory.discard(other.spool)
    }

    @Test func aLockThatSomebodyHoldsIsGivenUp() throws {
        let place = try Place()
        try place.publish([1], limits: limits())
        let file = try File(updating: Path.join(place.root, AccountFile.name))
        #expect(try file.tryLock())
        let error = #expect(throws: SystemError.self) {
            _ = try AccountFile(in: place.root, creating: true)
        }
        #expect(error?.code == ETIMEDOUT)
        file.unlock()
        try place.publish([1], limits: limits())
    }

    @Test func theFilesFormIsRead() {
        var account = DirectoryAccount()
        account.add(bundle: 12345)
        account.add(capture: .max)
        account.add(capture: 1)
        account.leftOut = 3
        account.listed = 1 << 60
        #expect(DirectoryAccount(fileContent: account.fileContent) == account)
        #expect(account.bytes == .max && account.captures == 2)
        for length in [0, 8, 63, 65] {
            let bytes = account.fileContent + [0]
            #expect(DirectoryAccount(fileContent: Array(bytes[..<length])) == nil)
        }
    }
}
