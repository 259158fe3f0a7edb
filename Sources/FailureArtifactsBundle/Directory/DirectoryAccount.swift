internal import FailureArtifactsSystem

/// What the bundles of a directory take, and what was granted to those in the making.
///
/// The numbers are never lower than the truth: what is to come is added before it comes, and what is gone is taken
/// off afterwards, so that a process that dies in between leaves them too high. That, and bundles that were
/// deleted by hand, is noticed before anything is refused: then the directory is listed.
struct DirectoryAccount: Equatable {
    /// Files.
    var bundles: UInt64 = 0
    var bundleBytes: UInt64 = 0
    /// Bundles in the making.
    var captures: UInt64 = 0
    /// What they were granted.
    var captureBytes: UInt64 = 0
    /// How many failures have left no bundle, since the file exists.
    var leftOut: UInt64 = 0
    /// When the directory was changed last, in nanoseconds since 1970, before it was listed; 0 for never.
    var listed: UInt64 = 0

    var bytes: UInt64 { bundleBytes.saturatingAdd(captureBytes) }

    mutating func add(capture bytes: UInt64) {
        captures = captures.saturatingAdd(1)
        captureBytes = captureBytes.saturatingAdd(bytes)
    }

    mutating func remove(capture bytes: UInt64) {
        captures = captures.saturatingSubtract(1)
        captureBytes = captureBytes.saturatingSubtract(bytes)
    }

    mutating func add(bundle bytes: UInt64) {
        bundles = bundles.saturatingAdd(1)
        bundleBytes = bundleBytes.saturatingAdd(bytes)
    }

    mutating func remove(bundle bytes: UInt64) {
        bundles = bundles.saturatingSubtract(1)
        bundleBytes = bundleBytes.saturatingSubtract(bytes)
    }

    // MARK: The file's form

    // Numbers of 64 bits, the least significant byte first: a mark, the numbers, their checksum.

    private static let mark: UInt64 = 0x3154_4744_4246_4146
    static let length = 8 * 8

    private var numbers: [UInt64] {
        [Self.mark, bundles, bundleBytes, captures, captureBytes, leftOut, listed]
    }

    /// FNV-1a over whole numbers (draft-eastlake-fnv).
    private static func checksum(_ numbers: some Sequence<UInt64>) -> UInt64 {
        numbers.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ $1) &* 0x100_0000_01b3 }
    }

    var fileContent: [UInt8] {
        (numbers + [Self.checksum(numbers)]).flatMap { number in
            withUnsafeBytes(of: number.littleEndian) { Array($0) }
        }
    }

    /// Nil for a file that is something else, or was written in part only.
    init?(fileContent bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        let numbers = stride(from: 0, to: Self.length, by: 8).map { start in
            bytes[start..<start + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard numbers[0] == Self.mark, Self.checksum(numbers.dropLast()) == numbers[7] else {
            return nil
        }
        (bundles, bundleBytes) = (numbers[1], numbers[2])
        (captures, captureBytes) = (numbers[3], numbers[4])
        (leftOut, listed) = (numbers[5], numbers[6])
    }

    init() {}
}

/// The file with a directory's account, locked: of all threads of all processes one has it.
struct AccountFile: ~Copyable {
    static let name = ".budget"
    /// Seconds until it is given up.
    ///
    /// Whoever has the lock needs it for microseconds, unless somebody has stopped the process; but of a hundred
    /// processes on two processors, each may have to wait until the others get one.
    private static let patience = 10.0

    private let file: File

    /// Opens and locks the file.
    ///
    /// - Parameters:
    ///   - directory: The artifacts directory.
    ///   - creating: Whether the directory and the file are created where they are missing.
    ///   - linePatience: How long those who wait do what.
    /// - Throws: The failure of a system call; `ETIMEDOUT` where somebody else has the lock all the time.
    init(
        in directory: String, creating: Bool, _ linePatience: AccountLine.Patience = .init()
    ) throws(SystemError) {
        let path = Path.join(directory, Self.name)
        let deadline = Instant.now.advanced(bySeconds: Self.patience)
        while true {
            let file = try Self.open(path, creating: creating, until: deadline)
            let line = AccountLine(in: directory, creating: creating, linePatience)
            try Self.lock(file, line, until: deadline)
            // It may have been removed while this waited for it, and then it is another one that counts.
            if try FileSystem.status(of: path)?.identity == file.status().identity {
                self.file = file
                return
            }
        }
    }

    deinit { file.unlock() }

    /// Gives the lock back: what is done before is done by one at a time.
    consuming func unlock() {}

    private static func open(
        _ path: String, creating: Bool, until deadline: Instant
    ) throws(SystemError) -> File {
        while true {
            do {
                return try File(updating: path)
            } catch {
                guard error.isNotFound, creating else { throw error }
            }
            try FileSystem.createDirectory(Path.directory(of: path))
            do {
                return try File(creating: path)
            } catch {
                // Another process may have created it, or removed the directory.
                guard error.isAlreadyExists || error.isNotFound, Instant.now < deadline else {
                    throw error
                }
            }
        }
    }

    private static func lock(
        _ file: borrowing File, _ line: consuming AccountLine, until deadline: Instant
    ) throws(SystemError) {
        do throws(SystemError) {
            while true {
                if line.isNext(), try file.tryLock() { return }
                guard Instant.now < deadline else {
                    throw SystemError("lock", file.path, code: ETIMEDOUT)
                }
                line.wait()
            }
        } catch  where error.code == ENOTSUP || error.code == ENOLCK || error.code == ENOSYS {
            // A volume that knows no such locks: there processes may exceed a limit together.
        }
    }

    /// The account; nil where there is none that can be read.
    func account() throws(SystemError) -> DirectoryAccount? {
        var bytes = [UInt8](repeating: 0, count: DirectoryAccount.length + 1)
        let count = try bytes.withMutableBytes { (buffer) throws(SystemError) in
            try file.read(into: buffer, at: 0)
        }
        return DirectoryAccount(fileContent: Array(bytes[..<count]))
    }

    /// Writes the account; on a full disk there is none then, and whoever is next lists the directory.
    func write(_ account: DirectoryAccount) throws(SystemError) {
        do throws(SystemError) {
            try account.fileContent.withBytes { (buffer) throws(SystemError) in
                try file.write(buffer, at: 0)
            }
        } catch  where error.isNoSpace {
            try file.resize(to: 0)
        }
    }
}
