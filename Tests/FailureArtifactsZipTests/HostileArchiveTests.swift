import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

/// Archives with one lie each, and the reason they are refused for.
@Suite struct HostileArchiveTests {
    /// One change to the archive that ``archive(_:)`` makes.
    struct Lie: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: ZipError.Reason
        let tell: @Sendable (inout Forgery) -> Void

        init(
            _ description: String, _ reason: ZipError.Reason,
            _ tell: @escaping @Sendable (inout Forgery) -> Void
        ) {
            testDescription = description
            self.reason = reason
            self.tell = tell
        }
    }

    private static let multiDisk = ZipError.Reason.unsupported("several parts (a multi-disk archive)")
    private static let overlap = ZipError.Reason.inconsistent(
        "it overlaps another entry or the central directory")
    private static let names = ZipError.Reason.inconsistent(
        "its own header and the central directory have different names")
    private static let methods = ZipError.Reason.inconsistent(
        "its own header and the central directory have different methods")
    private static let sizes = ZipError.Reason.inconsistent(
        "its own header and the central directory have different sizes or checksums")
    private static let small = ZipError.Reason.inconsistent(
        "the central directory is too small for the number of entries")
    private static let beyond = ZipError.Reason.inconsistent(
        "the central directory reaches beyond the end record")

    /// Found when the archive is opened.
    static let refusedWhole: [Lie] = [
        Lie("end: disk", multiDisk) { $0.set16($0.end + 4, 1) },
        Lie("end: directory's disk", multiDisk) { $0.set16($0.end + 6, 1) },
        Lie("end: entries on disk", multiDisk) { $0.set16($0.end + 8, 1) },
        Lie("end: huge count", small) {
            $0.set16($0.end + 8, 0xffff)
            $0.set16($0.end + 10, 0xffff)
        },
        Lie(
            "end: one entry less",
            .inconsistent("the central directory has more in it than the end record says")
        ) {
            $0.set16($0.end + 8, 1)
            $0.set16($0.end + 10, 1)
        },
        Lie("end: directory size", beyond) { $0.set32($0.end + 12, 0xffff_ffff) },
        Lie("end: directory offset", beyond) { $0.set32($0.end + 16, 0xffff_fff0) },
        Lie(
            "end: both shifted",
            .inconsistent(
                "1 bytes precede or follow the central directory that the end record does not account for"
            )
        ) {
            $0.set32($0.end + 16, UInt32($0.central - 1))
        },
        Lie(
            "a preamble",
            .inconsistent(
                "5 bytes precede or follow the central directory that the end record does not account for"
            )
        ) {
            $0.bytes.insert(contentsOf: [1, 2, 3, 4, 5], at: 0)
        },
        Lie(
            "something after the end",
            .inconsistent(
                "the comment after the end record does not reach the end of the file")
        ) {
            $0.bytes.append(0)
        },
        Lie("no end record in reach", .truncated) {
            $0.bytes += [UInt8](repeating: 0, count: 65_536)
        },
        Lie("not an archive", .notAnArchive) { $0.bytes = noise(1_000) },
        Lie("nothing", .notAnArchive) { $0.bytes = [] },
        Lie(
            "central signature",
            .inconsistent(
                "the central directory has fewer entries than the end record says")
        ) {
            $0.bytes[$0.second] = 0
        },
        Lie("encrypted", .unsupported("encryption")) { $0.set16($0.central + 8, 0x801) },
        Lie("masked", .unsupported("encryption")) { $0.set16($0.central + 8, 0x2800) },
        Lie("entry's disk", multiDisk) { $0.set16($0.central + 34, 1) },
        Lie("symbolic link", .symbolicLink) { $0.set32($0.central + 38, 0o120_777 << 16) },
        Lie("name length", .truncated) { $0.set16($0.central + 28, 0xffff) },
        Lie("extra length", .truncated) { $0.set16($0.second + 30, 0xffff) },
        Lie("comment length", .truncated) { $0.set16($0.second + 32, 0xffff) },
        Lie("extra block's length", .truncated) { $0.set16($0.central + 46 + 4 + 2, 6) },
        Lie("same offset", overlap) { $0.set32($0.second + 42, 0) },
        Lie("offset of the directory", overlap) { $0.set32($0.second + 42, UInt32($0.central)) },
        Lie("offset outside", overlap) { $0.set32($0.second + 42, 0xffff_fffe) },
        Lie("compressed size reaches the next", overlap) { $0.set32($0.central + 20, 200) },
        Lie("compressed size, huge", overlap) { $0.set32($0.central + 20, 0xffff_fffe) },
        Lie("no ZIP64 value", .inconsistent("a ZIP64 value that its header refers to is missing")) {
            $0.set32($0.central + 24, 0xffff_ffff)
        },
        Lie(
            "stored with two sizes",
            .inconsistent("it is not compressed and yet has two different sizes")
        ) {
            $0.set32($0.second + 24, 101)
        },
        Lie("duplicate", .duplicateName) { $0.rename($0.second, "aaaa") },
        Lie("directory with content", .inconsistent("it is a directory and yet has content")) {
            $0.rename($0.central, "aaa/")
        },
    ]

    /// Found when the first entry is read.
    static let refusedWhenRead: [Lie] = [
        Lie(
            "local signature", .inconsistent("there is no header where the central directory says it is")
        ) {
            $0.bytes[0] = 0
        },
        Lie("local name", names) { $0.bytes[30] = 0x62 },
        Lie("local name's length", names) { $0.set16(26, 3) },
        Lie("local method", methods) { $0.set16(8, 0) },
        Lie("central method", methods) { $0.set16($0.central + 10, 12) },
        Lie("both methods", .unsupported("compression method 12")) {
            $0.set16(8, 12)
            $0.set16($0.central + 10, 12)
        },
        Lie("local encryption", .unsupported("encryption")) { $0.set16(6, 0x801) },
        Lie("local CRC", sizes) { $0.bytes[14] ^= 1 },
        Lie("local compressed size", sizes) { $0.bytes[18] ^= 1 },
        Lie("local size", sizes) { $0.bytes[22] ^= 1 },
        Lie("local extra length", overlap) { $0.set16(28, 200) },
        Lie("both CRCs", .badChecksum) {
            $0.bytes[14] ^= 1
            $0.bytes[$0.central + 16] ^= 1
        },
        Lie("declared too large", .badSize) { $0.setSizes(1_001) },
        Lie("declared too small", .badSize) { $0.setSizes(999) },
        Lie("declared empty", .badSize) { $0.setSizes(0) },
        Lie("compressed data is cut", .truncated) { $0.setCompressedSizes($0.compressedSize - 1) },
        Lie("compressed data is missing", .truncated) { $0.setCompressedSizes(0) },
        Lie("bad data", .inconsistent("its compressed data is not valid")) { $0.bytes[43] = 0xff },
    ]

    @Test(arguments: refusedWhole) func isRefusedWhole(lie: Lie) throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(lie, in: directory)
            let error = #expect(throws: ZipError.self) { _ = try ZipArchive(path: path) }
            #expect(error?.reason == lie.reason)
            #expect(error?.archive == path)
        }
    }

    @Test(arguments: refusedWhenRead) func isRefusedWhenRead(lie: Lie) throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(lie, in: directory)
            let archive = try ZipArchive(path: path)
            let error = #expect(throws: ZipError.self) {
                _ = try archive.contents(of: archive.entries[0], limit: 1 << 20)
            }
            #expect(error == ZipError(archive: path, entry: "aaaa", reason: lie.reason))
            // The other entry is none the worse.
            #expect(try archive.contents(of: archive.entries[1], limit: 100) == noise(100))
        }
    }

    @Test func theTruthIsRead() throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(Lie("none", .truncated) { _ in }, in: directory)
            let content = [UInt8](repeating: 7, count: 1_000)
            #expect(try readArchive(path) == ["aaaa": content, "bbbb": noise(100)])
        }
    }

    @Test func bytesAfterTheCompressedDataAreRefused() throws {
        try withTemporaryDirectory { directory in
            // The second entry goes, and its bytes become the end of the first one's data.
            let path = try Self.archive(
                Lie("", .truncated) { forgery in
                    forgery.setCompressedSizes(UInt32(forgery.central - 43))
                    forgery.bytes.removeSubrange(forgery.second..<forgery.end)
                    forgery.end = forgery.second
                    forgery.set16(forgery.end + 8, 1)
                    forgery.set16(forgery.end + 10, 1)
                    forgery.set32(forgery.end + 12, UInt32(forgery.end - forgery.central))
                }, in: directory)
            let archive = try ZipArchive(path: path)
            let error = #expect(throws: ZipError.self) { try archive.read(archive.entries[0]) { _ in } }
            #expect(error?.reason == .inconsistent("its compressed data ends before its recorded size"))
        }
    }

    /// 64 MiB of zeros that say they are 10 bytes: no more than one block is ever inflated.
    @Test func aBombStopsAtItsDeclaredSize() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, [("bomb", [UInt8](repeating: 0, count: 64 << 20))])
            var forgery = Forgery(try FileSystem.contents(ofFile: path))
            forgery.setSizes(10)
            try FileSystem.write(forgery.bytes, toNewFile: directory + "/b.zip")
            let archive = try ZipArchive(path: directory + "/b.zip")
            var delivered = 0
            let error = #expect(throws: ZipError.self) {
                try archive.read(archive.entries[0]) { delivered += $0.count }
            }
            #expect(error?.reason == .badSize)
            #expect(delivered == 0)
        }
    }

    private static func archive(_ lie: Lie, in directory: String) throws -> String {
        let original = directory + "/original.zip"
        try writeArchive(
            original, [("aaaa", [UInt8](repeating: 7, count: 1_000)), ("bbbb", noise(100))])
        var forgery = Forgery(try FileSystem.contents(ofFile: original))
        lie.tell(&forgery)
        let path = directory + "/forged.zip"
        try FileSystem.write(forgery.bytes, toNewFile: path)
        return path
    }
}
