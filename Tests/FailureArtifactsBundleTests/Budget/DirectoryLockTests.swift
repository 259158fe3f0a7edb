import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The lock of a directory, whose file may be damaged, missing or locked.
@Suite struct DirectoryLockTests {
    private func limits(total: UInt64 = 1 << 30, bundles: Int = 1000) -> DirectoryLimits {
        DirectoryLimits(storeBytes: 1 << 30, totalBytes: total, bundles: bundles)
    }

    @Test(arguments: ["", "nonsense\n", "-1\n", "99999999999999999999\n"])
    func failuresAreCountedInAFileOfAnyContent(content: String) throws {
        let place = try Place()
        try FileSystem.write(Array(content.utf8), toNewFile: place.lockFile)
        #expect(place.directory.failuresLeftOut == 0)
        for count in 1...11 {
            place.directory.countFailureLeftOut()
            #expect(place.directory.failuresLeftOut == UInt64(count))
        }
    }

    /// A stopped process holds the lock.
    @Test func aLockThatIsNeverGivenBackIsWaitedForOnce() throws {
        let place = try Place(lockPatience: 0.1)
        try place.publish([1], limits: limits())
        let held = try File(updating: place.lockFile)
        #expect(try held.tryLock())
        let start = Instant.now
        let limits = limits(bundles: 3)
        try place.publish([1], limits: limits)
        #expect(start.elapsed > 0.1)
        // The file was removed, so no process waits for that lock again.
        try place.publish([1], limits: limits)
        let current = try FileSystem.status(of: place.lockFile)
        #expect(try current?.identity != held.status().identity)
        #expect(throws: LimitReached.self) { try place.publish([1], limits: limits) }
        #expect(try place.bundles.count == 3)
        held.unlock()
    }

    @Test func waitingHasAnEndForManyAtOnce() throws {
        let place = try Place(lockPatience: 0.1)
        try place.publish([1], limits: limits())
        let held = try File(updating: place.lockFile)
        #expect(try held.tryLock())
        let (directory, limits, metadata) = (place.directory, limits(), place.metadata([]))
        let group = DispatchGroup()
        for _ in 0..<16 {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                do {
                    let room = try StagingRoom(in: directory, within: limits)
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
        let process = try RunningProgram(["python3", "-c", lock, place.lockFile])
        #expect(process.readLine() == "locked")
        process.kill()
        try place.publish([1], limits: limits())
        #expect(try place.bundles.count == 2)
    }

    /// Without the file, the limits still apply and no bundle is lost.
    @Test func aDirectoryInItsPlaceIsNoObstacle() throws {
        let place = try Place()
        let limits = limits(bundles: 2)
        try FileSystem.createDirectory(place.lockFile)
        for _ in 0..<2 { try place.publish([1], limits: limits) }
        #expect(throws: LimitReached.self) { try place.publish([1], limits: limits) }
        #expect(try place.bundles.count == 2)
    }
}
