import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsReading
@testable import FailureArtifactsZip

/// Entries that are decompressed on a second thread.
@Suite struct LargeEntryTests {
    private static let size = 9 * blockSize + 77

    /// Writes an archive with one entry of compressible content, and opens it.
    private func makeArchive(_ directory: String) throws -> (archive: ZipArchive, entry: ZipEntry) {
        var content: [UInt8] = []
        let piece = noise(3_000)
        while content.count < Self.size {
            content += piece
            content += [UInt8](repeating: UInt8(truncatingIfNeeded: content.count), count: 900)
        }
        let path = directory + "/a.zip"
        try writeArchive(path, [("a", Array(content.prefix(Self.size)))])
        try FileSystem.write(Array(content.prefix(Self.size)), toNewFile: directory + "/content")
        let archive = try ZipArchive(path: path)
        return (archive, try #require(archive.entries.first))
    }

    @Test func contentComesInOrder() throws {
        try withTemporaryDirectory { directory in
            let (archive, entry) = try makeArchive(directory)
            try archive.extract(entry, toNewFile: directory + "/copy")
            #expect(
                try FileSystem.hasSameContent(
                    File(reading: directory + "/copy"), File(reading: directory + "/content")))
        }
    }

    @Test(arguments: [0, 1, 4]) func aFailingReceiverStopsReading(piece: Int) throws {
        try withTemporaryDirectory { directory in
            let (archive, entry) = try makeArchive(directory)
            let failure = SystemError("write to", "disk", code: 28)
            var count = 0
            let error = #expect(throws: ZipError.self) {
                try archive.read(entry) { (_) throws(SystemError) in
                    if count == piece { throw failure }
                    count += 1
                }
            }
            #expect(error?.reason == .system(failure))
        }
    }

    /// Flips a byte at many places.
    ///
    /// Every change must lead to an error, and reading must end.
    ///
    /// A single bit may be meaningless, because a byte can have padding before a stored block.
    @Test func damageIsNoticed() throws {
        try withTemporaryDirectory { directory in
            let (_, entry) = try makeArchive(directory)
            let path = directory + "/a.zip"
            for part in 1..<16 {
                let offset = 60 + entry.compressedSize / 16 * UInt64(part)
                func flip() throws {
                    let file = try File(updating: path)
                    var byte = try file.bytes(1, at: offset)
                    byte[0] ^= 0xFF
                    try byte.withBytes { (buffer) throws(SystemError) in
                        try file.write(buffer, at: offset)
                    }
                }
                try flip()
                let archive = try ZipArchive(path: path)
                let error = #expect(throws: ZipError.self) {
                    try archive.extract(entry, toNewFile: directory + "/copy")
                }
                #expect(error?.entry == "a")
                #expect(try FileSystem.status(of: directory + "/copy") == nil)
                try flip()
            }
            #expect(try run(["unzip", "-tq", path]).status == 0)
        }
    }

    @Test func dataThatEndsTooEarlyIsRefused() throws {
        try withTemporaryDirectory { directory in
            let (archive, entry) = try makeArchive(directory)
            let range = try archive.contentRange(of: entry)
            let half = try archive.source.part(
                range.lowerBound..<range.lowerBound + entry.compressedSize / 2)
            var size = 0
            let error = #expect(throws: ZipError.Reason.self) {
                try ZipArchive.inflate(half) { (piece) throws(ZipError.Reason) in size += piece.count }
            }
            #expect(error == .truncated)
            #expect(size > blockSize)
        }
    }

    @Test func dataThatEndsTooLateIsRefused() throws {
        try withTemporaryDirectory { directory in
            let (archive, entry) = try makeArchive(directory)
            let range = try archive.contentRange(of: entry)
            let more = try archive.source.part(range.lowerBound..<range.upperBound + 9)
            let error = #expect(throws: ZipError.Reason.self) {
                try ZipArchive.inflate(more) { (_) throws(ZipError.Reason) in }
            }
            #expect(error == .inconsistent("its compressed data ends before its recorded size"))
        }
    }
}
