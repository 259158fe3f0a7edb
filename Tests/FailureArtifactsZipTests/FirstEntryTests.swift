import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

@Suite struct FirstEntryTests {
    private func first(_ path: String, limit: Int = 1 << 20) throws -> [UInt8]? {
        try FirstEntry.contents(of: path, named: "first", limit: limit)
    }

    private static let contents: [[UInt8]] = [
        [], [7], Array(String(repeating: "abc ", count: 9_999).utf8), noise(3_000), noise(700_000),
    ]

    @Test(arguments: contents, [0, 1, 9]) func isRead(content: [UInt8], level: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, [("first", content), ("second", [1])], level: level)
            #expect(try first(path) == content)
            #expect(try first(path, limit: content.count) == content)
            if content.count > 0 { #expect(try first(path, limit: content.count - 1) == nil) }
            #expect(try FirstEntry.contents(of: path, named: "second", limit: 9) == nil)
            #expect(try FirstEntry.contents(of: path, named: "fir", limit: 1 << 20) == nil)
        }
    }

    /// Every change of a byte that the reader of whole archives refuses is refused here as well.
    @Test(arguments: [0, 1]) func damageIsNoticed(level: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            let content = Array(String(repeating: "abc ", count: 50).utf8)
            try writeArchive(path, [("first", content)], level: level)
            let whole = try FileSystem.contents(ofFile: path)
            let size = try Int(#require(try ZipArchive(path: path).entries.first).compressedSize)
            let changed = directory + "/changed.zip"
            // Signature, method, CRC-32, sizes, lengths, name and content.
            let places = [0..<4, 8..<10, 14..<35, 44..<44 + size].flatMap { Array($0) }
            for place in places {
                var bytes = whole
                bytes[place] ^= 0xFF
                try FileSystem.write(bytes, toNewFile: changed)
                #expect(try first(changed) != content, "byte \(place)")
                try FileSystem.remove(changed)
            }
            for count in 0..<44 + size {
                try FileSystem.write(Array(whole.prefix(count)), toNewFile: changed)
                #expect(try first(changed) == nil, "\(count) bytes")
                try FileSystem.remove(changed)
            }
        }
    }

    /// The sizes are after the content, so that the header doesn't have them.
    @Test func anArchiveWithDataDescriptorsIsNotRead() throws {
        try withTemporaryDirectory { directory in
            try FileSystem.write(Array("some text".utf8), toNewFile: directory + "/first")
            let command = "zip -qfd a.zip first"
            #expect(try run(["sh", "-c", command], in: directory).status == 0)
            #expect(try readArchive(directory + "/a.zip").keys.sorted() == ["first"])
            #expect(try first(directory + "/a.zip").map { $0.isEmpty } ?? true)
        }
    }

    @Test func aFileThatIsMissingIsAnError() {
        #expect(throws: SystemError.self) { try first("/nonexistent/a.zip") }
    }
}
