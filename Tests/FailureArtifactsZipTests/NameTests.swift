import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

@Suite struct NameTests {
    static let dangerous = [
        "", "/", "/etc/passwd", "..", "../a", "a/../b", "a/..", "a\\b", "\\a", "a\0b", "C:a", "c:/a",
        "C:",
    ]

    /// Names that a reader accepts, but that the writer never writes.
    static let sloppy = ["./a", "a/./b", "a//b", "a/", "."]

    static let fine = ["a", "..a", "a..", "...", "a/..b", "C", ":C", "あ:", "a b/c", "-", "~", "😀/😀"]

    @Test(arguments: dangerous + sloppy + [String(repeating: "a", count: 65_536)])
    func theWriterRefuses(name: String) throws {
        try withTemporaryDirectory { directory in
            var writer = try ZipWriter(creating: directory + "/a.zip")
            let error = #expect(throws: ZipError.self) {
                try writer.addEntry(named: name, bytes: [], modified: someTime)
            }
            #expect(error?.reason == .unsafeName)
            #expect(error?.entry == name)
        }
    }

    @Test(arguments: fine + [String(repeating: "a", count: 65_535)])
    func theWriterTakes(name: String) throws {
        try withTemporaryDirectory { directory in
            try writeArchive(directory + "/a.zip", [(name, [1])])
            #expect(try readArchive(directory + "/a.zip") == [name: [1]])
        }
    }

    /// Refusing an entry leaves the writer unchanged.
    @Test func theWriterRefusesDuplicates() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            var writer = try ZipWriter(creating: path)
            try writer.addEntry(named: "é", bytes: [1], modified: someTime)
            for name in ["é", "e\u{301}"] {
                let error = #expect(throws: ZipError.self) {
                    try writer.addEntry(named: name, bytes: [2], modified: someTime)
                }
                #expect(error?.reason == .duplicateName)
            }
            try writer.finish()
            #expect(try readArchive(path) == ["é": [1]])
        }
    }

    @Test(arguments: dangerous) func theReaderRefuses(name: String) throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(in: directory, name: Array(name.utf8), isUTF8: true)
            let error = #expect(throws: ZipError.self) { _ = try ZipArchive(path: path) }
            #expect(error?.reason == .unsafeName)
        }
    }

    @Test(arguments: sloppy.filter { !$0.hasSuffix("/") } + fine) func theReaderTakes(name: String)
        throws
    {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(in: directory, name: Array(name.utf8), isUTF8: true)
            #expect(try readArchive(path) == [name: [1, 2, 3]])
        }
    }

    /// A name's bytes, its UTF-8 flag and the decoded name.
    static let encodings: [(bytes: [UInt8], isUTF8: Bool, name: String?)] = [
        (Array("果物".utf8), true, "果物"),
        (Array("果物".utf8), false, "果物"),
        // Other encodings are unknown.
        ([0x61, 0x84], false, "a\u{FFFD}"),
        ([0x61, 0x84], true, nil),
        ([0xed, 0xa0, 0x80], true, nil),
        ([0xc0, 0xaf], true, nil),
        (Array("\u{FFFD}".utf8), true, "\u{FFFD}"),
        // Shift JIS for ソ, whose second byte is a backslash.
        ([0x83, 0x5c], false, nil),
    ]

    @Test(arguments: encodings.indices) func encodingIsRecognized(index: Int) throws {
        let example = Self.encodings[index]
        try withTemporaryDirectory { directory in
            let path = try Self.archive(in: directory, name: example.bytes, isUTF8: example.isUTF8)
            if let name = example.name {
                #expect(try readArchive(path) == [name: [1, 2, 3]])
            } else {
                let error = #expect(throws: ZipError.self) { _ = try ZipArchive(path: path) }
                #expect(error?.reason == .unsafeName)
            }
        }
    }

    /// Creates an archive with one stored file by hand, because no writer accepts bad names.
    private static func archive(in directory: String, name: [UInt8], isUTF8: Bool) throws -> String {
        var checksum = Checksum()
        ([1, 2, 3] as [UInt8]).withUnsafeBytes { checksum.update($0) }
        let header = EntryHeader(
            name: name, modified: someTime, method: ZipFormat.Method.stored, crc32: checksum.value,
            compressedSize: 3, size: 3, localHeaderOffset: 0)
        var writer = LittleEndianWriter()
        header.appendLocalHeader(to: &writer)
        writer.append([1, 2, 3] as [UInt8])
        let central = writer.bytes.count
        header.appendCentralHeader(to: &writer)
        ArchiveEnd(
            entries: 1, directorySize: UInt32(writer.bytes.count - central),
            directoryOffset: UInt32(central)
        ).append(to: &writer)
        var bytes = writer.bytes
        if !isUTF8 {
            bytes[7] = 0
            bytes[central + 9] = 0
        }
        try FileSystem.write(bytes, toNewFile: directory + "/a.zip")
        return directory + "/a.zip"
    }
}
