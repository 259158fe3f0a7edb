import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsReading
@testable import FailureArtifactsZip

@Suite struct RoundTripTests {
    static let files: [(name: String, bytes: [UInt8])] = [
        ("metadata.json", Array("{}".utf8)),
        ("empty", []),
        ("one byte", [7]),
        ("zeros", [UInt8](repeating: 0, count: 3_000_000)),
        ("noise", noise(700_001)),
        ("block", noise(blockSize)),
        ("blocks", (0..<50).flatMap { noise(9_000, seed: $0) + [UInt8](repeating: 1, count: 3_000) }),
        ("stores/果物を更新できる.sqlite", Array(String(repeating: "りんご", count: 9_999).utf8)),
    ]

    @Test(arguments: [0, 1, 6, 9])
    func contentComesBack(level: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, Self.files, level: level)
            let archive = try ZipArchive(path: path)
            #expect(archive.entries.map(\.name) == Self.files.map(\.name))
            for file in Self.files {
                let entry = try #require(archive.entry(named: file.name))
                #expect(try archive.contents(of: entry, limit: file.bytes.count) == file.bytes)
                #expect(entry.size == UInt64(file.bytes.count))
                #expect(entry.compressedSize <= entry.size)
            }
            #expect(archive.entry(named: "missing") == nil)
        }
    }

    @Test func smallOrIncompressibleContentIsStored() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, Self.files)
            let stored = try ZipArchive(path: path).entries.filter {
                $0.method == ZipFormat.Method.stored
            }.map(\.name)
            #expect(stored == ["metadata.json", "empty", "one byte", "noise", "block"])
        }
    }

    /// Deflate makes noise longer.
    ///
    /// The excess must not stay behind the archive's end.
    @Test func nothingFollowsStoredContent() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, [("noise", noise(1_000_000))])
            #expect(try File(reading: path).size() == 1_000_000 + (30 + 5 + 9) + (46 + 5 + 9) + 22)
            #expect(try readArchive(path) == ["noise": noise(1_000_000)])
        }
    }

    @Test func filesAreStreamedAndExtracted() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            var writer = try ZipWriter(creating: path)
            for (index, file) in Self.files.enumerated() {
                try FileSystem.write(file.bytes, toNewFile: directory + "/in-\(index)")
                let input = try File(reading: directory + "/in-\(index)")
                try writer.addEntry(named: file.name, contentsOf: input, modified: someTime)
            }
            try writer.finish()
            let archive = try ZipArchive(path: path)
            for (index, file) in Self.files.enumerated() {
                let entry = try #require(archive.entry(named: file.name))
                try archive.extract(entry, toNewFile: directory + "/out-\(index)")
                #expect(try FileSystem.contents(ofFile: directory + "/out-\(index)") == file.bytes)
            }
        }
    }

    @Test func anExistingFileIsNeitherOverwrittenNorRemoved() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, [("a", [1])])
            let before = try FileSystem.contents(ofFile: path)
            let error = #expect(throws: ZipError.self) { _ = try writeArchive(path, []) }
            #expect(error?.reason == .system(SystemError("create", path, code: 17)))
            let archive = try ZipArchive(path: path)
            let entry = try #require(archive.entries.first)
            #expect(throws: ZipError.self) { try archive.extract(entry, toNewFile: path) }
            #expect(try FileSystem.contents(ofFile: path) == before)
        }
    }

    @Test func archivesNest() throws {
        try withTemporaryDirectory { directory in
            let scratch = directory + "/scratch"
            try FileSystem.createDirectory(scratch)
            try writeArchive(directory + "/1.zip", Self.files)
            let first = try FileSystem.contents(ofFile: directory + "/1.zip")
            let padding: (name: String, bytes: [UInt8]) = ("padding", noise(1_000))
            try writeArchive(directory + "/2.zip", [padding, ("1.zip", first)], level: 0)
            let second = try FileSystem.contents(ofFile: directory + "/2.zip")
            for (level, method) in [(0, ZipFormat.Method.stored), (1, ZipFormat.Method.deflated)] {
                let path = directory + "/3-\(level).zip"
                try writeArchive(path, [padding, ("2.zip", second)], level: level)
                let outer = try ZipArchive(path: path)
                let middleEntry = try #require(outer.entry(named: "2.zip"))
                #expect(middleEntry.method == method)
                let middle = try outer.nested(middleEntry, scratchDirectory: scratch)
                let innerEntry = try #require(middle.entry(named: "1.zip"))
                let inner = try middle.nested(innerEntry, scratchDirectory: scratch)
                #expect(inner.path == path + "/2.zip/1.zip")
                for file in Self.files {
                    let entry = try #require(inner.entry(named: file.name))
                    #expect(try inner.contents(of: entry, limit: 1 << 24) == file.bytes)
                }
                #expect(try FileSystem.contents(ofDirectory: scratch).isEmpty)
            }
        }
    }

    @Test func aLimitIsKept() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, [("a", [1, 2, 3])])
            let archive = try ZipArchive(path: path)
            let entry = try #require(archive.entries.first)
            let error = #expect(throws: ZipError.self) { _ = try archive.contents(of: entry, limit: 2) }
            #expect(error?.reason == .tooLarge(limit: 2))
            #expect(error?.description == "entry 'a' of '\(path)' is too large: the limit is 2.")
        }
    }

    @Test func timesOfMSDOS() {
        func fields(of timestamp: Timestamp) -> [UInt16] {
            let time = DOSTime(timestamp)
            return [time.time, time.date]
        }
        // 2024-02-29 23:58:58, and 2107-12-31 23:59:58, the last representable time.
        #expect(fields(of: Timestamp(seconds: 1_709_251_138)) == [0xbf5d, 0x585d])
        #expect(fields(of: Timestamp(seconds: .max)) == [0xbf7d, 0xff9f])
    }
}
