import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

/// Content compressed by several threads.
@Suite struct ParallelDeflateTests {
    /// Sizes around the boundaries of blocks, and around the minimum size for threads.
    static let sizes = [
        2 * blockSize - 1, 2 * blockSize, 2 * blockSize + 1, 3 * blockSize - 1, 3 * blockSize,
        3 * blockSize + 1, 9 * blockSize + 32_768, 40 * blockSize + 7,
    ]

    /// Like in ``OtherReadersTests``, but without printing the content.
    static let readers = [
        OtherReadersTests.readers[0], ["unzip", "-tq"], ["sh", "-c", "bsdtar -xOf \"$0\" > /dev/null"],
    ]

    @Test(arguments: readers) func othersAcceptEverySize(reader: [String]) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            var writer = try ZipWriter(creating: path, threads: 4)
            for size in Self.sizes {
                try writer.addEntry(named: "\(size)", bytes: mixture(size), modified: someTime)
            }
            try writer.finish()
            #expect(try ZipArchive(path: path).entries.allSatisfy { $0.method == .deflated })
            let finished = try run(reader + [path])
            #expect(finished.status == 0, "\(finished.output.prefix(2_000))")
        }
    }

    @Test(arguments: [2, 7]) func contentComesBack(threads: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            var writer = try ZipWriter(creating: path, threads: threads)
            for size in Self.sizes {
                try FileSystem.write(mixture(size), toNewFile: directory + "/\(size)")
                let file = try File(reading: directory + "/\(size)")
                try writer.addEntry(named: "\(size)", contentsOf: file, modified: someTime)
            }
            try writer.finish()
            let archive = try ZipArchive(path: path)
            #expect(try run(["unzip", "-q", "-d", "theirs", "a.zip"], in: directory).status == 0)
            for size in Self.sizes {
                let entry = try #require(archive.entry(named: "\(size)"))
                try archive.extract(entry, toNewFile: directory + "/ours-\(size)")
                for copy in ["ours-\(size)", "theirs/\(size)"] {
                    #expect(
                        try FileSystem.hasSameContent(
                            File(reading: directory + "/" + copy), File(reading: directory + "/\(size)"))
                    )
                }
            }
        }
    }

    /// Content that repeats every 20,000 bytes compresses well only if each block's dictionary is the
    /// preceding one's end.
    @Test func eachBlockUsesThePrecedingOneAsDictionary() throws {
        let period = noise(20_000)
        var content: [UInt8] = []
        for _ in 0..<200 { content += period }
        let sizes = try [1, 4].map { threads in
            try withTemporaryDirectory { directory in
                var writer = try ZipWriter(creating: directory + "/a.zip", threads: threads)
                try writer.addEntry(named: "a", bytes: content, modified: someTime)
                try writer.finish()
                return try #require(try ZipArchive(path: directory + "/a.zip").entries.first)
                    .compressedSize
            }
        }
        // Otherwise each of the 16 blocks would take 20,000 bytes more.
        #expect(sizes[1] < sizes[0] + 10_000, "\(sizes)")
    }

    @Test func workersCompressBlocks() throws {
        var deflater = try Deflater(level: 1)
        let content = mixture(300 * blockSize)
        var size = 0
        let parallel = ParallelDeflater(level: 1, threads: 4)
        let summary = try content.withBytes { (bytes) throws(ZipError.Reason) in
            try parallel.compress(
                size: UInt64(bytes.count), with: &deflater,
                from: { block, offset in
                    block.copyMemory(
                        from: UnsafeRawBufferPointer(
                            rebasing: bytes[Int(offset)..<Int(offset) + block.count]))
                },
                { output, count in
                    size += count
                    return true
                })
        }
        #expect(size == content.count)
        #expect(try #require(summary).workerBlockCount > 0)
    }

    @Test(arguments: [0, 1, 5, 19]) func aReadFailureStopsCompression(block: UInt64) throws {
        var deflater = try Deflater(level: 1)
        let failure = ZipError.Reason.system(SystemError("read", "disk", code: 5))
        let error = #expect(throws: ZipError.Reason.self) {
            _ = try ParallelDeflater(level: 1, threads: 4).compress(
                size: UInt64(20 * blockSize), with: &deflater,
                from: { (_, offset) throws(ZipError.Reason) in
                    if offset == block * UInt64(blockSize) { throw failure }
                },
                { _, _ in true })
        }
        #expect(error == failure)
    }

    @Test(arguments: [0, 7]) func aWriteFailureStopsCompression(block: Int) throws {
        var deflater = try Deflater(level: 1)
        let failure = ZipError.Reason.system(SystemError("write to", "disk", code: 28))
        var written = 0
        let error = #expect(throws: ZipError.Reason.self) {
            _ = try ParallelDeflater(level: 1, threads: 4).compress(
                size: UInt64(20 * blockSize), with: &deflater, from: { _, _ in },
                { (_, _) throws(ZipError.Reason) in
                    if written == block { throw failure }
                    written += 1
                    return true
                })
        }
        #expect(error == failure)
    }

    @Test func aFailureOfAWorkerReachesTheCaller() throws {
        var deflater = try Deflater(level: 1)
        // The buffer is too small for a block of noise.
        let parallel = ParallelDeflater(level: 1, threads: 4, outputSize: 1_000)
        let block = noise(blockSize)
        let error = #expect(throws: ZipError.Reason.self) {
            _ = try parallel.compress(
                size: UInt64(20 * blockSize), with: &deflater,
                from: { buffer, _ in block.withUnsafeBytes { buffer.copyMemory(from: $0) } },
                { _, _ in true })
        }
        #expect(error == .system(SystemError("compress", "", code: 12)))
    }

    @Test func theConsumerCanStop() throws {
        var deflater = try Deflater(level: 1)
        var count = 0
        let summary = try ParallelDeflater(level: 1, threads: 4).compress(
            size: UInt64(40 * blockSize), with: &deflater, from: { _, _ in },
            { _, _ in
                count += 1
                return count < 3
            })
        #expect(summary == nil)
        #expect(count == 3)
    }

    // MARK: Content that is compressed already

    @Test(arguments: [1, 4]) func noiseIsStored(threads: Int) throws {
        try withTemporaryDirectory { directory in
            let content = incompressible(30 * blockSize)
            var writer = try ZipWriter(creating: directory + "/a.zip", threads: threads)
            try writer.addEntry(named: "a", bytes: content, modified: someTime)
            try writer.finish()
            let entry = try #require(try ZipArchive(path: directory + "/a.zip").entries.first)
            #expect(entry.method == .stored)
            for reader in Self.readers {
                #expect(try run(reader + [directory + "/a.zip"]).status == 0)
            }
        }
    }

    @Test(arguments: [1, 4]) func noiseAtTheStartOnlyIsCompressed(threads: Int) throws {
        try withTemporaryDirectory { directory in
            let content = incompressible(8 * blockSize) + mixture(30 * blockSize)
            var writer = try ZipWriter(creating: directory + "/a.zip", threads: threads)
            try writer.addEntry(named: "a", bytes: content, modified: someTime)
            try writer.finish()
            let entry = try #require(try ZipArchive(path: directory + "/a.zip").entries.first)
            #expect(entry.method == .deflated)
            #expect(try run(["unzip", "-tq", directory + "/a.zip"]).status == 0)
        }
    }

    /// A gigabyte of photos need not be compressed completely to find out that it doesn't shrink.
    @Test func incompressibleContentIsOnlySampled() throws {
        let block = noise(blockSize)
        var read: UInt64 = 0
        let trial = CompressionTrial(level: 1, size: 1 << 30)
        let source: ContentSource = { (buffer, _) throws(ZipError.Reason) in
            read += UInt64(buffer.count)
            block.withUnsafeBytes { buffer.copyMemory(from: $0) }
        }
        #expect(
            try !trial.shouldContinue(at: CompressionTrial.size, with: CompressionTrial.size, source))
        #expect(read <= 1 << 22)
        #expect(try trial.shouldContinue(at: 1 << 29, with: 1 << 29, source))
        #expect(try !trial.shouldContinue(at: 1 << 30, with: 1 << 30, source))
    }
}

/// Partly compressible bytes: noise, with runs of one byte in between.
private func mixture(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + longNoise.count)
    var index = 0
    while bytes.count < count {
        let start = index * 9_000 % 290_000
        bytes += longNoise[start..<start + 9_000]
        bytes += [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 3_000)
        index += 1
    }
    return Array(bytes.prefix(count))
}

/// Incompressible bytes: repetitions are much further apart than deflate's window of 32 KiB.
private func incompressible(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += longNoise }
    return Array(bytes.prefix(count))
}

private let longNoise = noise(300_000, seed: 5)
