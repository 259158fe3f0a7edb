import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The usage file, which may be wrong, missing or locked.
@Suite struct UsageFileTests {
    private func limits(total: UInt64 = 1 << 30, bundles: Int = 1000) -> DirectoryLimits {
        DirectoryLimits(storeBytes: 1 << 30, totalBytes: total, bundles: bundles)
    }

    @Test(arguments: ["", "nonsense\n", "3 -1 0\n", "2 2000", "1 2 3 4\n", "\0\0\0\n", nil])
    func aFileThatCannotBeReadIsMadeAnew(content: String?) throws {
        let place = try Place()
        let limits = limits(bundles: 3)
        for _ in 0..<2 { try place.publish(noise(1000), limits: limits) }
        try FileSystem.remove(place.usageFile)
        if let content { try FileSystem.write(Array(content.utf8), toNewFile: place.usageFile) }
        try place.publish([1], limits: limits)
        try place.check()
        #expect(throws: LimitReached.self) {
            _ = try StagingReservation(in: place.directory, within: limits)
        }
    }

    /// A process that is killed after it counts a bundle and before it renames it leaves such a number.
    @Test(arguments: ["900 900 5\n", "2 18446744073709551615 5\n"])
    func aNumberThatIsTooHighRefusesNothing(content: String) throws {
        let place = try Place()
        let limits = limits(total: 8 << 20, bundles: 3)
        for _ in 0..<2 { try place.publish(noise(1000), limits: limits) }
        try FileSystem.remove(place.usageFile)
        try FileSystem.write(Array(content.utf8), toNewFile: place.usageFile)
        var room = try StagingReservation(in: place.directory, within: limits)
        let hasRoom = room.take(5 << 20)
        #expect(hasRoom)
        #expect(place.directory.failuresLeftOut == 5)
        try place.check()
        place.directory.discard(room.staging)
    }

    @Test func aNumberThatIsTooLowIsCorrectedByAListing() throws {
        let place = try Place()
        for _ in 0..<3 { try place.publish([1], limits: limits()) }
        try FileSystem.remove(place.usageFile)
        try FileSystem.write(Array("1 1 0\n".utf8), toNewFile: place.usageFile)
        place.directory.recount()
        try place.check()
    }

    /// A stopped process holds the lock.
    @Test func aLockThatIsNeverGivenBackIsWaitedForOnce() throws {
        let place = try Place()
        try place.publish([1], limits: limits())
        let held = try File(updating: place.usageFile)
        #expect(try held.tryLock())
        let start = Instant.now
        let limits = limits(bundles: 3)
        try place.publish([1], limits: limits)
        #expect(start.elapsed > UsageFile.patience)
        // The file was replaced, so no process waits for that lock again.
        let next = Instant.now
        try place.publish([1], limits: limits)
        #expect(next.elapsed < UsageFile.patience)
        #expect(throws: LimitReached.self) { try place.publish([1], limits: limits) }
        try place.check()
        #expect(try place.bundles.count == 3)
        held.unlock()
    }

    @Test func waitingHasAnEndForManyAtOnce() throws {
        let place = try Place()
        try place.publish([1], limits: limits())
        let held = try File(updating: place.usageFile)
        #expect(try held.tryLock())
        let (directory, limits, metadata) = (place.directory, limits(), place.metadata([]))
        let group = DispatchGroup()
        for _ in 0..<16 {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                do {
                    let room = try StagingReservation(in: directory, within: limits)
                    _ = try directory.publish(metadata, from: room.staging, within: limits)
                    directory.discard(room.staging)
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(group.wait(timeout: .now() + 60) == .success)
        // No bundle is lost.
        #expect(try place.bundles.count == 17)
        place.directory.recount()
        try place.check()
        held.unlock()
    }

    @Test func theLockOfAProcessThatIsKilledIsFree() throws {
        let place = try Place()
        try place.publish([1], limits: limits())
        let lock = """
            import fcntl, os, sys
            file = os.open(sys.argv[1], os.O_RDWR)
            fcntl.flock(file, fcntl.LOCK_EX)
            print("locked", flush=True)
            sys.stdin.read()
            """
        let process = try RunningProgram(["python3", "-c", lock, place.usageFile])
        #expect(process.readLine() == "locked")
        process.kill()
        try place.publish([1], limits: limits())
        #expect(place.usage?.bundles == 2)
        try place.check()
    }

    /// Without a usage file, the limits still apply and no bundle is lost.
    @Test func aDirectoryInItsPlaceIsNoObstacle() throws {
        let place = try Place()
        let limits = limits(bundles: 2)
        try FileSystem.createDirectory(place.usageFile)
        for _ in 0..<2 { try place.publish([1], limits: limits) }
        #expect(throws: LimitReached.self) { try place.publish([1], limits: limits) }
        #expect(try place.bundles.count == 2)
    }

    @Test func theFormIsRead() {
        var usage = DirectoryUsage()
        usage.add(bundle: 12345)
        usage.add(bundle: .max)
        usage.failuresLeftOut = 3
        #expect(usage.text == "2 18446744073709551615 3\n")
        #expect(DirectoryUsage(text: usage.text) == usage)
        #expect(DirectoryUsage(text: "1 2 3\n15 3\n")?.bytes == 2)
        for text in ["", "1 2 3", "1 2\n", "a b c\n", "-1 2 3\n", "1 2 99999999999999999999\n"] {
            #expect(DirectoryUsage(text: text) == nil)
        }
        usage.remove(bundle: .max)
        usage.remove(bundle: 1)
        usage.remove(bundle: 1)
        #expect(usage.bundles == 0 && usage.bytes == 0)
    }
}
