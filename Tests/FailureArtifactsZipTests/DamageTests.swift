import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

/// Truncated and randomly changed archives.
///
/// Reading them never traps, and all content that it returns is correct.
@Suite struct DamageTests {
    static let files: [(name: String, bytes: [UInt8])] = [
        ("deflated", Array(String(repeating: "abc ", count: 30).utf8)), ("stored", noise(40)), ("空", []),
    ]

    /// A small archive of this writer, and one with data descriptors, a comment and ZIP64 headers.
    private static func samples(in directory: String) throws -> [String] {
        try writeArchive(directory + "/ours.zip", files)
        let program = """
            import sys, zipfile
            class Pipe:
                def write(s, b): return sys.stdout.buffer.write(b)
                def flush(s): pass
            z = zipfile.ZipFile(Pipe(), 'w', 8)
            z.writestr('deflated', 'abc ' * 30)
            with z.open(zipfile.ZipInfo('stored'), 'w', force_zip64=True) as f: f.write(sys.stdin.buffer.read())
            z.writestr('空', '')
            z.comment = b'a comment'
            z.close()
            """
        try FileSystem.write(files[1].bytes, toNewFile: directory + "/stored")
        try FileSystem.write(Array(program.utf8), toNewFile: directory + "/make.py")
        let finished = try run(["sh", "-c", "python3 make.py < stored > python.zip"], in: directory)
        try #require(finished.status == 0, "\(finished.output)")
        return [directory + "/ours.zip", directory + "/python.zip"]
    }

    /// Reads everything in an archive.
    ///
    /// Entries with the known names must have the original content.
    private func check(_ path: String, _ what: String) -> Bool {
        do throws(ZipError) {
            let archive = try ZipArchive(path: path)
            for file in Self.files {
                guard let entry = archive.entry(named: file.name) else { return false }
                let bytes = try archive.contents(of: entry, limit: 1 << 20)
                #expect(bytes == file.bytes, "\(what) changed '\(file.name)' unnoticed")
            }
            return true
        } catch {
            if case .system = error.reason { Issue.record("\(what): \(error)") }
            return false
        }
    }

    @Test func everyTruncationIsNoticed() throws {
        try withTemporaryDirectory { directory in
            for sample in try Self.samples(in: directory) {
                let bytes = try FileSystem.contents(ofFile: sample)
                #expect(check(sample, "nothing"))
                for length in 0..<bytes.count {
                    let path = directory + "/\(length)"
                    try FileSystem.write(Array(bytes[..<length]), toNewFile: path)
                    let error = #expect(throws: ZipError.self) { _ = try ZipArchive(path: path) }
                    // If the cut is inside the comment, an end record remains but contradicts the length.
                    if length < 4 {
                        #expect(error?.reason == .notAnArchive)
                    } else if sample.hasSuffix("ours.zip") {
                        #expect(error?.reason == .truncated)
                    }
                    try FileSystem.remove(path)
                }
            }
        }
    }

    /// Checks about 10,000 archives in about a second.
    @Test func everyFlippedBitIsNoticedOrHarmless() throws {
        try withTemporaryDirectory { directory in
            for sample in try Self.samples(in: directory) {
                var bytes = try FileSystem.contents(ofFile: sample)
                let path = directory + "/flipped"
                var harmless = 0
                for index in bytes.indices {
                    for change in [1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff] as [UInt8] {
                        bytes[index] ^= change
                        try FileSystem.write(bytes, toNewFile: path)
                        if check(path, "\(sample): byte \(index) ^ \(change)") { harmless += 1 }
                        try FileSystem.remove(path)
                        bytes[index] ^= change
                    }
                }
                // Changes in times, versions and attributes are harmless; all others must be noticed.
                #expect(harmless < bytes.count * 9 / 2, "\(sample): \(harmless) of \(bytes.count * 9)")
                #expect(harmless > 0)
            }
        }
    }

    @Test func extractingADamagedEntryLeavesNoFile() throws {
        try withTemporaryDirectory { directory in
            let sample = try Self.samples(in: directory)[0]
            var bytes = try FileSystem.contents(ofFile: sample)
            bytes[30 + 8 + 9 + 3] ^= 0x10
            try FileSystem.write(bytes, toNewFile: directory + "/bad.zip")
            let archive = try ZipArchive(path: directory + "/bad.zip")
            let destination = directory + "/out"
            #expect(throws: ZipError.self) {
                try archive.extract(archive.entries[0], toNewFile: destination)
            }
            #expect(try FileSystem.status(of: destination) == nil)
        }
    }
}
