import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@Suite struct FileSystemTests {
    /// Runs `body` with a new directory that is removed afterwards.
    private func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
        let directory = try FileSystem.createUniqueDirectory(
            in: FileManager.default.temporaryDirectory.path, prefix: "system tests ")
        defer { try? FileSystem.remove(directory) }
        try body(directory)
    }

    @Test func directoriesAreCreatedWithThoseAboveThem() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a/b/c"
            try FileSystem.createDirectory(path)
            try FileSystem.createDirectory(path)
            #expect(try FileSystem.status(of: path)?.kind == .directory)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o700)

            try FileSystem.write([1], toNewFile: directory + "/file")
            #expect(throws: SystemError.self) { try FileSystem.createDirectory(directory + "/file") }
            let error = #expect(throws: SystemError.self) {
                try FileSystem.createDirectory(directory + "/file/below")
            }
            #expect(error?.description.contains("'\(directory)/file'") == true)
        }
    }

    @Test func fileTimesOutsideOfTheRangeAreCut() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/file"
            try FileSystem.write([1], toNewFile: path)
            // A file system may cut them, too.
            for (seconds, range) in [(-2_000_000_000, 0...0), (13_000_000_000, 1 << 62...Int64.max)] {
                let times = Array(repeating: timespec(tv_sec: seconds, tv_nsec: 0), count: 2)
                #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
                let modified = try FileSystem.status(of: path)?.modified ?? -1
                #expect(range.contains(modified))
            }
        }
    }

    @Test func directoriesAreCreatedWhileOthersRemoveThem() throws {
        try withTemporaryDirectory { directory in
            let failures = Lock<[SystemError]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                for _ in 0..<400 {
                    do throws(SystemError) {
                        try FileSystem.createDirectory(directory + "/a/b")
                    } catch {
                        failures.withLock { $0.append(error) }
                    }
                    try? FileSystem.removeEmptyDirectory(directory + "/a/b")
                    try? FileSystem.removeEmptyDirectory(directory + "/a")
                }
            }
            #expect(failures.withLock(\.self) == [])
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func pipesAndDevicesAreOpenedWithoutWaitingAndNotCopied() throws {
        try withTemporaryDirectory { directory in
            let pipe = directory + "/pipe"
            try #require(mkfifo(pipe, 0o600) == 0)
            try File(reading: pipe).close()
            for path in [pipe, "/dev/zero"] {
                let error = #expect(throws: SystemError.self) {
                    try FileSystem.copy(path, toNewFile: directory + "/copy")
                }
                #expect(error?.code == ENOTSUP)
            }
            #expect(try FileSystem.status(of: directory + "/copy") == nil)
        }
    }

    @Test func aCopyHasAtMostTheMaximumSize() throws {
        try withTemporaryDirectory { directory in
            let source = directory + "/source"
            try FileSystem.write([UInt8](repeating: 7, count: 3 << 20), toNewFile: source)
            for (number, bytes) in [UInt64(0), 1, 2 << 20, (2 << 20) + 1, 3 << 20, .max].enumerated() {
                let copy = directory + "/copy\(number)"
                try FileSystem.copy(source, toNewFile: copy, maximumBytes: bytes)
                #expect(FileSystem.regularFile(copy)?.size == min(bytes, 3 << 20))
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func copyingAFileThatGrowsAllTheTimeEnds() throws {
        try withTemporaryDirectory { directory in
            let source = directory + "/log"
            try FileSystem.write([1], toNewFile: source)
            let isDone = Lock(false)
            let writer = DispatchGroup()
            writer.enter()
            Thread.detachNewThread {
                defer { writer.leave() }
                guard let file = try? File(updating: source) else { return }
                let block = [UInt8](repeating: 7, count: 4 << 20)
                var offset: UInt64 = 1
                // The limit spares the disk if the copy has no end.
                while !isDone.withLock(\.self), offset < 1 << 30 {
                    try? block.withBytes { (bytes) throws(SystemError) in
                        try file.write(bytes, at: offset)
                    }
                    offset += UInt64(block.count)
                }
            }
            while FileSystem.regularFile(source)?.size ?? 0 < 32 << 20 { usleep(1000) }
            let before = try #require(FileSystem.regularFile(source)).size
            try FileSystem.copy(source, toNewFile: directory + "/copy", maximumBytes: before)
            isDone.withLock { $0 = true }
            writer.wait()
            #expect(FileSystem.regularFile(directory + "/copy")?.size == before)
        }
    }

    @Test func aFileIsWrittenAndReadAtOffsets() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/file"
            let file = try File(creating: path)
            try [1, 2, 3].withBytes { (buffer) throws(SystemError) in try file.write(buffer, at: 5) }
            var bytes = [UInt8](repeating: 9, count: 10)
            let count = try bytes.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: 4)
            }
            #expect(count == 4 && bytes.prefix(4) == [0, 1, 2, 3])
            #expect(try file.size() == 8)
            try file.close()
            #expect(throws: SystemError.self) { try File(creating: path).close() }
            #expect(try FileSystem.contents(ofFile: path) == [0, 0, 0, 0, 0, 1, 2, 3])
            #expect(throws: SystemError.self) { try FileSystem.contents(ofFile: path, limit: 7) }
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func anExclusiveRenameKeepsAnExistingFile() throws {
        try withTemporaryDirectory { directory in
            try FileSystem.write([1], toNewFile: directory + "/new")
            try FileSystem.write([2], toNewFile: directory + "/old")
            let error = #expect(throws: SystemError.self) {
                try FileSystem.renameExclusively(directory + "/new", to: directory + "/old")
            }
            #expect(error?.isAlreadyExists == true)
            #expect(try FileSystem.contents(ofFile: directory + "/old") == [2])
            try FileSystem.renameExclusively(directory + "/new", to: directory + "/other")
            #expect(try FileSystem.contents(ofDirectory: directory) == ["old", "other"])
            try FileSystem.rename(directory + "/other", to: directory + "/old")
            #expect(try FileSystem.contents(ofFile: directory + "/old") == [1])
        }
    }

    @Test func removingADirectoryFollowsNoLinks() throws {
        try withTemporaryDirectory { directory in
            try FileSystem.createDirectory(directory + "/kept")
            try FileSystem.write([1], toNewFile: directory + "/kept/file")
            try FileSystem.createDirectory(directory + "/gone/below")
            try FileManager.default.createSymbolicLink(
                atPath: directory + "/gone/below/link", withDestinationPath: directory + "/kept")
            #expect(throws: SystemError.self) {
                try FileSystem.removeEmptyDirectory(directory + "/gone")
            }
            try FileSystem.remove(directory + "/gone")
            try FileSystem.remove(directory + "/gone")
            #expect(try FileSystem.contents(ofDirectory: directory) == ["kept"])
            #expect(try FileSystem.contents(ofDirectory: directory + "/kept") == ["file"])
        }
    }

    /// `fcntl` locks belong to a process and a file: closing any descriptor of the file drops them.
    @Test func sharingAFileKeepsItsLocks() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/locked"
            try FileSystem.write(Array("content".utf8), toNewFile: path)
            let descriptor = open(path, O_RDWR)
            defer { close(descriptor) }
            var lock = flock(
                l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 1, l_pid: 0)
            #expect(fcntl(descriptor, F_SETLK, &lock) == 0)
            func isLockedForOthers() throws -> Bool {
                let program =
                    "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
                return try runProgram(["python3", "-c", program, path]).status != 0
            }
            #expect(try isLockedForOthers())

            try FileSystem.copy(path, toNewFile: directory + "/copy")

            #expect(try FileSystem.contents(ofFile: directory + "/copy") == Array("content".utf8))
            #expect(try isLockedForOthers())
            // The control: a plain copy drops the lock.
            _ = try FileSystem.contents(ofFile: path)
            #expect(try !isLockedForOthers())
        }
    }

    @Test func aFileOfSeveralBlocksIsCopiedWhole() throws {
        try withTemporaryDirectory { directory in
            for size in [0, 1, 1 << 20, 3 << 20 + 17] {
                let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
                try FileSystem.write(bytes, toNewFile: directory + "/\(size)")
                try FileSystem.copy(directory + "/\(size)", toNewFile: directory + "/\(size).copy")
                #expect(try FileSystem.contents(ofFile: directory + "/\(size).copy") == bytes)
                func copyHasSameContent() throws -> Bool {
                    try FileSystem.hasSameContent(
                        File(reading: "\(directory)/\(size)"), File(reading: "\(directory)/\(size).copy")
                    )
                }
                #expect(try copyHasSameContent())
                guard size > 0 else { continue }
                let other = try File(updating: directory + "/\(size).copy")
                try [bytes[size - 1] ^ 1].withBytes { (buffer) throws(SystemError) in
                    try other.write(buffer, at: UInt64(size - 1))
                }
                #expect(try !copyHasSameContent())
            }
        }
    }

    /// The owner of a borrowed descriptor may close it at any time.
    @Test func aFileThatOthersOpenAndCloseIsCopied() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/busy"
            let bytes = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            try FileSystem.write(bytes, toNewFile: path)
            let copied = Lock(false)
            let other = Thread {
                while !copied.withLock({ $0 }) {
                    let descriptor = open(path, O_RDONLY)
                    usleep(50)
                    close(descriptor)
                }
                copied.withLock { $0 = false }
            }
            other.start()
            for number in 0..<400 {
                let copy = directory + "/\(number)"
                try FileSystem.copy(path, toNewFile: copy)
                #expect(try FileSystem.contents(ofFile: copy) == bytes)
            }
            copied.withLock { $0 = true }
            while copied.withLock({ $0 }) { usleep(50) }
        }
    }
}

@Suite struct PathTests {
    @Test(arguments: [
        ("a/b.c", "b.c", "a", "b"), ("/b", "b", "/", "b"), ("b.tar.gz", "b.tar.gz", ".", "b.tar"),
        ("/x/.hidden", ".hidden", "/x", ".hidden"), ("/x/果物.sqlite", "果物.sqlite", "/x", "果物"),
    ])
    func partsOfAPath(path: String, name: String, directory: String, stem: String) {
        #expect(Path.name(of: path) == name)
        #expect(Path.directory(of: path) == directory)
        #expect(Path.stem(of: Path.name(of: path)) == stem)
    }

    @Test func joining() {
        #expect(Path.join("a", "b") == "a/b")
        #expect(Path.join("a/", "b") == "a/b")
        #expect(Path.join("a", "/b") == "/b")
        #expect(Path.absolute("x").hasSuffix("/x"))
    }
}

@Suite struct TimeTests {
    @Test(arguments: [
        (0, 0, "1970-01-01T00:00:00.000Z"), (951_782_400, 7, "2000-02-29T00:00:00.007Z"),
        (-1, 999, "1969-12-31T23:59:59.999Z"), (1_795_244_889, 123, "2026-11-21T07:08:09.123Z"),
    ])
    func timesAreWrittenByISO8601(seconds: Int64, milliseconds: Int32, text: String) {
        #expect(Timestamp(seconds: seconds, milliseconds: milliseconds).description == text)
    }

    @Test func instantsMeasure() {
        let start = Instant.now
        sleep(microseconds: 20_000)
        #expect(start.elapsed >= 0.02)
        #expect(start.seconds(until: start.advanced(bySeconds: 1.5)) == 1.5)
        #expect(start.advanced(bySeconds: 1).seconds(until: start) == 0)
    }
}

@Suite struct ProcessTests {
    @Test func theProcessIsDescribed() {
        #expect(ProcessEnvironment.processID == Int(getpid()))
        #expect(ProcessEnvironment.variables["PATH"] == ProcessInfo.processInfo.environment["PATH"])
        #expect(!ProcessEnvironment.operatingSystem.isEmpty && !ProcessEnvironment.architecture.isEmpty)
    }

    #if os(Linux)
    @Test func aBusyThreadIsSeen() {
        let mayEnd = Lock(false)
        let thread = Thread { while !mayEnd.withLock(\.self) {} }
        thread.start()
        while !thread.isExecuting { usleep(100) }
        // Other tests may keep a thread busy too, so the opposite can't be checked.
        #expect(!Threads.othersSleep())
        mayEnd.withLock { $0 = true }
    }
    #endif
}
