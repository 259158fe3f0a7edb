import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsSQLite

/// Clears the free pages of real databases and reads the remaining content with the `sqlite3` program.
@Suite struct FreePagesTests {
    /// The text that only the deleted third of the rows contains.
    private static let secret = "forgotten-row-"

    /// Makes a database of about 1 MiB of which a third is free.
    private func makeStore(
        _ path: String, pageSize: Int = 4096, vacuum: Int = 0, secureDelete: Bool = false
    ) throws {
        let application = try ApplicationHandle(path)
        try application.run(
            """
            PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = \(vacuum);
            PRAGMA secure_delete = \(secureDelete ? 1 : 0);
            CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, image BLOB); CREATE INDEX byBody ON note(body);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1500)
            INSERT INTO note SELECT n, iif(n BETWEEN 500 AND 1000, '\(Self.secret)', 'kept-')
              || n || hex(randomblob(100)), randomblob(n % 700) FROM c;
            DELETE FROM note WHERE id BETWEEN 500 AND 1000;
            """)
        application.close()
    }

    /// Returns the number of occurrences of deleted rows in the file.
    private func secrets(in path: String) throws -> Int {
        let data = try Data(contentsOf: URL(filePath: path))
        var count = 0
        var range = data.startIndex..<data.endIndex
        while let found = data.range(of: Data(Self.secret.utf8), in: range) {
            count += 1
            range = found.upperBound..<data.endIndex
        }
        return count
    }

    @Test(arguments: [512, 1024, 4096, 16_384, 65_536], [0, 2])
    func nothingButFreePagesChanges(pageSize: Int, vacuum: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/copy.sqlite"
            try makeStore(path, pageSize: pageSize, vacuum: vacuum)
            let before = try sqlite3Program(path, ".dump")
            let free = try sqlite3Program(path, "PRAGMA freelist_count")
            let size = try FileSystem.status(of: path)?.size
            let secretsBefore = try secrets(in: path)

            let written = try FreePages.clear(inCopyAt: path)

            let expected = try #require(UInt64(free)) * UInt64(pageSize)
            #expect(written <= expected && written * 10 > expected * 7, "\(written) of \(expected)")
            // Trunk pages and pages in use keep their content.
            #expect(try secrets(in: path) * 2 < secretsBefore)
            #expect(try FileSystem.status(of: path)?.size == size)
            #expect(try sqlite3Program(path, ".dump") == before)
            #expect(try sqlite3Program(path, "PRAGMA integrity_check") == "ok")
            #expect(try sqlite3Program(path, "PRAGMA freelist_count") == free)
            // The freelist still works: its pages are filled again.
            let filling = "INSERT INTO note SELECT NULL, body, randomblob(400) FROM note"
            #expect(try sqlite3Program(path, filling + "; PRAGMA integrity_check") == "ok")
            #expect(try sqlite3Program(path, "PRAGMA freelist_count") == "0")
        }
    }

    @Test func whatIsEmptyAlreadyIsNotWritten() throws {
        try withTemporaryDirectory { directory in
            for (name, secure, vacuum) in [("secure", true, 0), ("full", false, 1)] {
                let path = directory + "/" + name
                try makeStore(path, vacuum: vacuum, secureDelete: secure)
                try expectUntouched(path)
            }
            let path = directory + "/twice"
            try makeStore(path)
            #expect(try FreePages.clear(inCopyAt: path) > 0)
            try expectUntouched(path)
        }
    }

    private func expectUntouched(_ path: String, _ comment: Comment? = nil) throws {
        let before = FileManager.default.contents(atPath: path)
        #expect(try FreePages.clear(inCopyAt: path) == 0, comment)
        #expect(FileManager.default.contents(atPath: path) == before, comment)
    }

    // MARK: Lists that are not what they should be

    /// The changes to a file's bytes, by name; the closure's second argument is the offset of the first trunk
    /// page.
    private static let damages: [(name: String, change: @Sendable (inout Data, Int) -> Void)] = [
        ("the chain of trunks is a cycle", { $0.put($0.number(at: 32), at: $1) }),
        ("a trunk is beyond the file", { $0.put(1 << 30, at: $1) }),
        ("a trunk is page 1", { $0.put(1, at: $1) }),
        ("the first trunk is beyond the file", { data, _ in data.put(.max, at: 32) }),
        ("more leaves than have room", { $0.put(1023, at: $1 + 4) }),
        ("very many leaves", { $0.put(.max, at: $1 + 4) }),
        ("one leaf less", { $0.put($0.number(at: $1 + 4) - 1, at: $1 + 4) }),
        ("a leaf is page 0", { $0.put(0, at: $1 + 8) }),
        ("a leaf is page 1", { $0.put(1, at: $1 + 8) }),
        ("a leaf is beyond the file", { $0.put(.max, at: $1 + 8) }),
        ("a leaf twice", { $0.put($0.number(at: $1 + 8), at: $1 + 12) }),
        ("a leaf that is the trunk", { $0.put($0.number(at: 32), at: $1 + 8) }),
        ("one page less in the header", { data, _ in data.put(data.number(at: 36) - 1, at: 36) }),
        ("one page more in the header", { data, _ in data.put(data.number(at: 36) + 1, at: 36) }),
        ("all pages in the header", { data, _ in data.put(.max, at: 36) }),
        ("a larger database than the file", { data, _ in data.put(1 << 24, at: 28) }),
        ("no power of two", { data, _ in data[16] = 3 }),
        (
            "all of a page is reserved",
            { data, _ in
                data[16...17] = Data([2, 0]); data[20] = 255
            }
        ),
        ("the end of the file is missing", { data, _ in data.removeLast(4096) }),
        ("a part of a page is missing", { data, _ in data.removeLast(100) }),
        ("no database", { data, _ in data[0] = 0 }),
        ("half a header", { data, _ in data = data.prefix(50) }),
        ("nothing", { data, _ in data = Data() }),
    ]

    @Test func aListThatIsDamagedIsLeftAlone() throws {
        try withTemporaryDirectory { directory in
            try makeStore(directory + "/sound")
            let sound = try Data(contentsOf: URL(filePath: directory + "/sound"))
            for damage in Self.damages {
                var data = sound
                damage.change(&data, (Int(sound.number(at: 32)) - 1) * 4096)
                #expect(data != sound)
                let path = directory + "/damaged"
                try data.write(to: URL(filePath: path))
                try expectUntouched(path, "\(damage.name)")
            }
            #expect(try FreePages.clear(inCopyAt: directory + "/sound") > 0)
        }
    }

    @Test func aPointerMapIsNeverFree() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/copy"
            try makeStore(path, vacuum: 2)
            var data = try Data(contentsOf: URL(filePath: path))
            data.put(2, at: (Int(data.number(at: 32)) - 1) * 4096 + 8)
            try data.write(to: URL(filePath: path))
            try expectUntouched(path)
        }
    }

    /// A valid freelist never contains the page at 1 GiB.
    ///
    /// The file is a hole except for its first pages and two trunks.
    @Test(arguments: [false, true]) func theLockBytePageIsNeverFree(isListed: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/copy"
            #expect(try sqlite3Program(path, "PRAGMA page_size = 65536; CREATE TABLE a(b)") == "")
            let lockPage: UInt32 = 16_385
            let count: UInt32 = 16_390
            let free = (3...count).filter { $0 != lockPage || isListed }
            let trunks = [Array(free[..<10]), Array(free[10...])]
            let file = try File(updating: path)
            func write(_ numbers: [UInt32], at offset: UInt64) throws {
                let bytes = numbers.flatMap { number in
                    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
                }
                try bytes.withBytes { (buffer) throws(SystemError) in
                    try file.write(buffer, at: offset)
                }
            }
            try write([count, trunks[0][0], UInt32(free.count)], at: 28)
            for (trunk, next) in zip(trunks, [trunks[1][0], 0]) {
                let leaves = Array(trunk.dropFirst())
                let content: [UInt32] = [next, UInt32(leaves.count)] + leaves
                try write(content, at: UInt64(trunk[0] - 1) * 65_536)
            }
            try write([7], at: UInt64(count) * 65_536 - 4)
            if !isListed { #expect(try sqlite3Program(path, "PRAGMA integrity_check") == "ok") }
            let leafCount = try FreePages.leaves(of: file)?.pages.count
            #expect(leafCount == (isListed ? nil : free.count - 2))
        }
    }

    @Test(arguments: ["-wal", "-journal"]) func aCopyWithAJournalIsLeftAlone(suffix: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/copy"
            try makeStore(path)
            try FileSystem.write([1], toNewFile: path + suffix)
            try expectUntouched(path)
        }
    }

    /// With any content of the header and of a trunk, the call returns and the file keeps its size.
    @Test func randomDamage() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix(seed: seed)
        try withTemporaryDirectory { directory in
            let path = directory + "/copy"
            try makeStore(path, pageSize: 512)
            let sound = try Data(contentsOf: URL(filePath: path))
            let trunk = (Int(sound.number(at: 32)) - 1) * 512
            for _ in 0..<100 {
                var data = sound
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let offset =
                        Bool.random(using: &random)
                        ? Int.random(in: 16..<100, using: &random)
                        : trunk + Int.random(in: 0..<512, using: &random)
                    data[offset] = UInt8.random(in: 0 ... .max, using: &random)
                }
                try data.write(to: URL(filePath: path))
                _ = try FreePages.clear(inCopyAt: path)
                #expect(
                    try FileSystem.status(of: path)?.size == UInt64(sound.count), "seed \(seed)")
            }
        }
    }
}

extension Data {
    /// Returns the number in the four bytes at `offset`, in SQLite's byte order.
    fileprivate func number(at offset: Int) -> UInt32 {
        self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    fileprivate mutating func put(_ number: UInt32, at offset: Int) {
        for index in 0..<4 {
            self[offset + index] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * index))
        }
    }
}
