import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// Who is next where many want to change a directory's account at once.
@Suite struct AccountTurnTests {
    /// Whoever has just had its turn, and wants another one at once, finds the lock free before all others do.
    @Test func whoWaitsIsNotPassedTimeAndAgain() throws {
        let place = try Place()
        let root = place.root
        let patience = AccountLine.Patience(withoutPlace: 0.02)
        let (turns, isOver) = (Lock(0), Lock(false))
        let group = DispatchGroup()
        for _ in 0..<4 {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                while !isOver.withLock(\.self) {
                    guard let file = try? AccountFile(in: root, creating: true, patience) else {
                        continue
                    }
                    turns.withLock { $0 += 1 }
                    sleep(microseconds: 5000)
                    file.unlock()
                }
            }
        }
        defer {
            isOver.withLock { $0 = true }
            group.wait()
        }
        for _ in 0..<10 {
            let before = turns.withLock(\.self)
            do { _ = try AccountFile(in: root, creating: true, patience) }
            // Four of them have come before, or while this thread had no processor.
            let passed = turns.withLock(\.self) - before
            #expect(passed < 50)
        }
    }

    @Test func whoComesFirstIsFirst() throws {
        let place = try Place()
        let root = place.root
        let patience = AccountLine.Patience(withoutPlace: 0, passing: 60)
        let held = try AccountFile(in: root, creating: true)
        #expect(lineLength(in: root) == 0)
        let order = Lock<[Int]>([])
        let group = DispatchGroup()
        for number in 0..<12 {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                guard let file = try? AccountFile(in: root, creating: true, patience) else {
                    return
                }
                order.withLock { $0.append(number) }
                file.unlock()
            }
            while lineLength(in: root) <= number { sleep(microseconds: 100) }
        }
        held.unlock()
        group.wait()
        #expect(order.withLock(\.self) == Array(0..<12))
        #expect(lineLength(in: root) == 0)
    }

    /// Somebody who is next but was stopped keeps nobody from the account, and leaves no place when it is killed.
    @Test func whoDoesNotComeIsPassed() throws {
        let place = try Place()
        do { _ = try AccountFile(in: place.root, creating: true) }
        try requirePrograms(of: ["python3"])
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let lock = """
            import fcntl, os, struct, sys
            line = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.fcntl(line, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 5, 1, 0))
            print("stands in line", flush=True)
            sys.stdin.read()
            """
        process.arguments = ["python3", "-c", lock, Path.join(place.root, AccountLine.name)]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        #expect(!output.fileHandleForReading.availableData.isEmpty)
        #expect(lineLength(in: place.root) == 1)
        for _ in 0..<3 { _ = try AccountFile(in: place.root, creating: true) }
        #expect(lineLength(in: place.root) == 1)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(lineLength(in: place.root) == 0)
    }

    /// Then the lock is anybody's, as it is on a volume that does not know such locks.
    @Test func withoutALineItIsAnybodysTurn() throws {
        let place = try Place()
        let root = place.root
        try FileSystem.createDirectory(Path.join(root, AccountLine.name))
        let turns = Lock(0)
        let group = DispatchGroup()
        for _ in 0..<8 {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                guard let file = try? AccountFile(in: root, creating: true) else { return }
                turns.withLock { $0 += 1 }
                file.unlock()
            }
        }
        group.wait()
        #expect(turns.withLock(\.self) == 8)
    }

    /// The line goes with all the rest.
    @Test func nothingIsLeft() throws {
        let place = try Place()
        let held = try AccountFile(in: place.root, creating: true)
        var line = AccountLine(in: place.root, creating: true)
        while lineLength(in: place.root) == 0 { line.wait() }
        #expect(lineLength(in: place.root) == 1)
        held.unlock()
        let limits = DirectoryLimits(storeBytes: 1 << 30, totalBytes: 1 << 30, bundles: 1000)
        let room = try SpoolRoom(in: place.directory, within: limits)
        place.directory.discard(room.spool)
        #expect(try FileSystem.status(of: place.root) == nil)
        _ = consume line
    }
}

/// How many wait in a directory's line.
private func lineLength(in directory: String) -> Int {
    guard let file = try? File(updating: directory + "/" + AccountLine.name) else { return 0 }
    return locked(in: 0..<UInt64(Int64.max), of: file)
}

/// How many single bytes are locked: the system tells of one of them, whichever it comes across first.
private func locked(in range: Range<UInt64>, of file: borrowing File) -> Int {
    guard let byte = (try? file.byteLocked(in: range)) ?? nil else { return 0 }
    return locked(in: range.lowerBound..<byte, of: file) + 1
        + locked(in: byte + 1..<range.upperBound, of: file)
}
