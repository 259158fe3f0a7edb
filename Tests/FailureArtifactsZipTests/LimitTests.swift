import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsReading
@testable import FailureArtifactsZip

@Suite struct LimitTests {
    private func reason(_ body: () throws -> Void) -> ZipError.Reason? {
        do {
            try body()
            return nil
        } catch {
            return (error as? ZipError)?.reason
        }
    }

    private let limits = ZipLimits(
        entryBytes: 100_000, totalBytes: 150_000, ratio: 10, anyRatioBytes: 1000)

    @Test func contentBeyondALimitIsRefused() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(
                path,
                [
                    ("small zeros", [UInt8](repeating: 0, count: 1000)),
                    ("zeros", [UInt8](repeating: 0, count: 50_000)), ("noise", noise(90_000)),
                    ("large", noise(100_001)),
                ])
            let archive = try ZipArchive(path: path, limits: limits)
            for (name, isRead) in [
                ("small zeros", true), ("zeros", false), ("noise", true), ("large", false),
            ] {
                let entry = try #require(archive.entry(named: name))
                let found = reason { _ = try archive.contents(of: entry, limit: .max) }
                if isRead {
                    #expect(found == nil)
                } else if case .overLimit = found {
                } else {
                    Issue.record("\(name): \(String(describing: found))")
                }
                #expect(
                    try ZipArchive(path: path, limits: .none).contents(of: entry, limit: .max).count > 0)
            }
            guard case .overLimit = reason({ try archive.checkTotalSize() }) else {
                Issue.record("The total is not looked at.")
                return
            }
            try ZipArchive(path: path).checkTotalSize()
        }
    }

    /// Unchecked, the sum of all sizes would overflow.
    @Test func sizesWhoseSumOverflowsAreRefused() throws {
        var writer = LittleEndianWriter()
        EntryHeader(
            name: [0x61], modified: Timestamp(seconds: 0), method: ZipFormat.Method.deflated, crc32: 0,
            compressedSize: 1, size: .max, localHeaderOffset: 0
        ).appendCentralHeader(to: &writer)
        var bytes = writer.bytes
        // The size is in a ZIP64 block, which follows the block that is there.
        bytes[30] += 12
        bytes += [1, 0, 8, 0] + [UInt8](repeating: 0xFF, count: 8)
        var reader = LittleEndianReader(bytes)
        let entry = ZipEntry(try CentralDirectoryHeader(&reader), name: "a", limit: 0)
        #expect(ZipLimits.standard.problem(ofAll: [entry, entry]) != nil)
        #expect(ZipLimits.standard.problem(size: .max, compressedSize: .max) != nil)
        #expect(ZipLimits.none.problem(size: .max, compressedSize: 0) == nil)
    }

    /// Opening a named pipe would wait for a writer.
    @Test func aNamedPipeIsRefused() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/pipe.zip"
            #expect(mkfifo(path, 0o600) == 0)
            #expect(reason({ _ = try ZipArchive(path: path) }) == .notAFile)
        }
    }
}
