import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsReading
@testable import FailureArtifactsZip

/// Archives beyond the limits of the original format.
///
/// Integration tests check content of more than 4 GiB with a real store.
@Suite struct Zip64Tests {
    /// Readers need no ZIP64 record for 0xFFFF entries, but the writer adds one from there on.
    @Test(arguments: [65_534, 65_535, 70_000]) func manyEntries(count: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            var writer = try ZipWriter(creating: path)
            for index in 0..<count {
                try writer.addEntry(named: "\(index)", bytes: [], modified: someTime)
            }
            try writer.finish()
            #expect(try ZipArchive(path: path).entries.count == count)
            let program = "import sys, zipfile; print(len(zipfile.ZipFile(sys.argv[1]).namelist()))"
            #expect(try run(["python3", "-c", program, path]).output == "\(count)\n")
            let size = Int(try File(reading: path).size())
            let locator = try bytes(of: path, at: size - 42, count: 4)
            #expect((locator == [0x50, 0x4b, 6, 7]) == (count >= 65_535))
            if count == 70_000 { #expect(try run(["unzip", "-tq", path]).status == 0) }
        }
    }

    /// Creates offsets of more than 32 bits cheaply: the archive starts after a hole in the file.
    @Test(arguments: [4_294_967_294, 4_294_967_295, 5_000_000_000] as [UInt64])
    func offsetsOverFourGiB(start: UInt64) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            var writer = try ZipWriter(creating: path, startingAt: start)
            let content = [UInt8](repeating: 7, count: 1_000)
            try writer.addEntry(named: "a", bytes: content, modified: someTime)
            try writer.addEntry(named: "b", bytes: noise(100), modified: someTime)
            try writer.finish()
            #expect(try readArchive(path) == ["a": content, "b": noise(100)])
            let program = """
                import sys, zipfile
                z = zipfile.ZipFile(sys.argv[1])
                print(z.testzip(), [(i.header_offset, i.extract_version) for i in z.infolist()])
                """
            let firstVersion = start >= 0xffff_ffff ? 45 : 20
            let first = try #require(try ZipArchive(path: path).entry(named: "a"))
            let second = start + 30 + 1 + 9 + first.compressedSize
            let finished = try run(["python3", "-c", program, path])
            #expect(
                finished.output == "None [(\(start), \(firstVersion)), (\(second), 45)]\n")
            #expect(try run(["bsdtar", "-xOf", path, "a"]).status == 0)
        }
    }

    /// Checks header fields around the sentinel, where off-by-one errors occur.
    @Test(arguments: [0, 1, 0xffff_fffe, 0xffff_ffff, 0x1_0000_0000, UInt64.max] as [UInt64])
    func headersKeepEveryValue(value: UInt64) throws {
        let header = EntryHeader(
            name: Array("n".utf8), modified: someTime, method: ZipFormat.Method.deflated, crc32: 9,
            compressedSize: value, size: value, localHeaderOffset: value)
        var writer = LittleEndianWriter()
        header.appendCentralHeader(to: &writer)
        var reader = LittleEndianReader(writer.bytes)
        let copy = try CentralDirectoryHeader(&reader)
        #expect(reader.remaining == 0)
        #expect(copy.size == value && copy.compressedSize == value && copy.localHeaderOffset == value)
        #expect(writer.bytes[6] == (value >= 0xffff_ffff ? 45 : 20))

        writer = LittleEndianWriter()
        header.appendLocalHeader(to: &writer)
        let length = EntryHeader.localHeaderLength(nameLength: 1, size: value, modified: someTime)
        #expect(writer.bytes.count == length)
        #expect(length == (value >= 0xffff_ffff ? 60 : 40))
    }
}

/// Reads some bytes of a file.
func bytes(of path: String, at offset: Int, count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let file = try File(reading: path)
    let done = try bytes.withMutableBytes { (buffer) throws(SystemError) in
        try file.read(into: buffer, at: UInt64(offset))
    }
    return Array(bytes[..<done])
}
