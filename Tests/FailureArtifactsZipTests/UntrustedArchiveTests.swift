import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

/// Archives with one flaw each, and the error that refuses them.
@Suite struct UntrustedArchiveTests {
    /// A change to the archive that ``archive(_:)`` creates.
    struct Flaw: Sendable, CustomTestStringConvertible {
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

    /// The flaws that opening the archive detects.
    static let refusedWhole: [Flaw] = [
        Flaw("end: disk", multiDisk) { $0.set16($0.end + 4, 1) },
        Flaw("end: directory's disk", multiDisk) { $0.set16($0.end + 6, 1) },
        Flaw("end: entries on disk", multiDisk) { $0.set16($0.end + 8, 1) },
        Flaw("end: huge count", small) {
            $0.set16($0.end + 8, 0xffff)
            $0.set16($0.end + 10, 0xffff)
        },
        Flaw(
            "end: one entry less",
            .inconsistent("the central directory is longer than the end record says")
        ) {
            $0.set16($0.end + 8, 1)
            $0.set16($0.end + 10, 1)
        },
        Flaw("end: directory size", beyond) { $0.set32($0.end + 12, 0xffff_ffff) },
        Flaw("end: directory offset", beyond) { $0.set32($0.end + 16, 0xffff_fff0) },
        Flaw(
            "end: both shifted",
            .inconsistent(
                "1 bytes precede or follow the central directory that the end record does not account for"
            )
        ) {
            $0.set32($0.end + 16, UInt32($0.central - 1))
        },
        Flaw(
            "a preamble",
            .inconsistent(
                "5 bytes precede or follow the central directory that the end record does not account for"
            )
        ) {
            $0.bytes.insert(contentsOf: [1, 2, 3, 4, 5], at: 0)
        },
        Flaw(
            "something after the end",
            .inconsistent(
                "the comment after the end record does not reach the end of the file")
        ) {
            $0.bytes.append(0)
        },
        Flaw("no end record in reach", .truncated) {
            $0.bytes += [UInt8](repeating: 0, count: 65_536)
        },
        Flaw("not an archive", .notAnArchive) { $0.bytes = noise(1_000) },
        Flaw("nothing", .notAnArchive) { $0.bytes = [] },
        Flaw(
            "central signature",
            .inconsistent(
                "the central directory has fewer entries than the end record says")
        ) {
            $0.bytes[$0.second] = 0
        },
        Flaw("encrypted", .unsupported("encryption")) { $0.set16($0.central + 8, 0x801) },
        Flaw("masked", .unsupported("encryption")) { $0.set16($0.central + 8, 0x2800) },
        Flaw("entry's disk", multiDisk) { $0.set16($0.central + 34, 1) },
        Flaw("symbolic link", .symbolicLink) { $0.set32($0.central + 38, 0o120_777 << 16) },
        Flaw("name length", .truncated) { $0.set16($0.central + 28, 0xffff) },
        Flaw("extra length", .truncated) { $0.set16($0.second + 30, 0xffff) },
        Flaw("comment length", .truncated) { $0.set16($0.second + 32, 0xffff) },
        Flaw("extra block's length", .truncated) { $0.set16($0.central + 46 + 4 + 2, 6) },
        Flaw("same offset", overlap) { $0.set32($0.second + 42, 0) },
        Flaw("offset of the directory", overlap) { $0.set32($0.second + 42, UInt32($0.central)) },
        Flaw("offset outside", overlap) { $0.set32($0.second + 42, 0xffff_fffe) },
        Flaw("compressed size reaches the next", overlap) { $0.set32($0.central + 20, 200) },
        Flaw("compressed size, huge", overlap) { $0.set32($0.central + 20, 0xffff_fffe) },
        Flaw("no ZIP64 value", .inconsistent("a ZIP64 value that its header refers to is missing")) {
            $0.set32($0.central + 24, 0xffff_ffff)
        },
        Flaw(
            "stored with two sizes",
            .inconsistent("it is not compressed but has two different sizes")
        ) {
            $0.set32($0.second + 24, 101)
        },
        Flaw("duplicate", .duplicateName) { $0.rename($0.second, "aaaa") },
        Flaw("directory with content", .inconsistent("it is a directory but has content")) {
            $0.rename($0.central, "aaa/")
        },
    ]

    /// The flaws that reading the first entry detects.
    static let refusedWhenRead: [Flaw] = [
        Flaw(
            "local signature", .inconsistent("there is no header where the central directory says it is")
        ) {
            $0.bytes[0] = 0
        },
        Flaw("local name", names) { $0.bytes[30] = 0x62 },
        Flaw("local name's length", names) { $0.set16(26, 3) },
        Flaw("local method", methods) { $0.set16(8, 0) },
        Flaw("central method", methods) { $0.set16($0.central + 10, 12) },
        Flaw("both methods", .unsupported("compression method 12")) {
            $0.set16(8, 12)
            $0.set16($0.central + 10, 12)
        },
        Flaw("local encryption", .unsupported("encryption")) { $0.set16(6, 0x801) },
        Flaw("local CRC", sizes) { $0.bytes[14] ^= 1 },
        Flaw("local compressed size", sizes) { $0.bytes[18] ^= 1 },
        Flaw("local size", sizes) { $0.bytes[22] ^= 1 },
        Flaw("local extra length", overlap) { $0.set16(28, 200) },
        Flaw("both CRCs", .badChecksum) {
            $0.bytes[14] ^= 1
            $0.bytes[$0.central + 16] ^= 1
        },
        Flaw("declared too large", .badSize) { $0.setSizes(1_001) },
        Flaw("declared too small", .badSize) { $0.setSizes(999) },
        Flaw("declared empty", .badSize) { $0.setSizes(0) },
        Flaw("compressed data is cut", .truncated) { $0.setCompressedSizes($0.compressedSize - 1) },
        Flaw("compressed data is missing", .truncated) { $0.setCompressedSizes(0) },
        Flaw("bad data", .inconsistent("its compressed data is not valid")) { $0.bytes[43] = 0xff },
    ]

    @Test(arguments: refusedWhole) func isRefusedWhole(flaw: Flaw) throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(flaw, in: directory)
            let error = #expect(throws: ZipError.self) { _ = try ZipArchive(path: path) }
            #expect(error?.reason == flaw.reason)
            #expect(error?.archive == path)
        }
    }

    @Test(arguments: refusedWhenRead) func isRefusedWhenRead(flaw: Flaw) throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(flaw, in: directory)
            let archive = try ZipArchive(path: path)
            let error = #expect(throws: ZipError.self) {
                _ = try archive.contents(of: archive.entries[0], limit: 1 << 20)
            }
            #expect(error == ZipError(archive: path, entry: "aaaa", reason: flaw.reason))
            // The other entry is still readable.
            #expect(try archive.contents(of: archive.entries[1], limit: 100) == noise(100))
        }
    }

    @Test func theUnchangedArchiveIsRead() throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(Flaw("none", .truncated) { _ in }, in: directory)
            let content = [UInt8](repeating: 7, count: 1_000)
            #expect(try readArchive(path) == ["aaaa": content, "bbbb": noise(100)])
        }
    }

    @Test func bytesAfterTheCompressedDataAreRefused() throws {
        try withTemporaryDirectory { directory in
            // Drop the second entry, so that its bytes become the end of the first one's data.
            let path = try Self.archive(
                Flaw("", .truncated) { forgery in
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

    /// 64 MiB of zeros with a recorded size of 10 bytes.
    ///
    /// At most one block is inflated.
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

    private static func archive(_ flaw: Flaw, in directory: String) throws -> String {
        let original = directory + "/original.zip"
        try writeArchive(
            original, [("aaaa", [UInt8](repeating: 7, count: 1_000)), ("bbbb", noise(100))])
        var forgery = Forgery(try FileSystem.contents(ofFile: original))
        flaw.tell(&forgery)
        let path = directory + "/forged.zip"
        try FileSystem.write(forgery.bytes, toNewFile: path)
        return path
    }
}
