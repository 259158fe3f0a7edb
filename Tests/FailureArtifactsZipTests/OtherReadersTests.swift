import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsReading
@testable import FailureArtifactsZip

/// Other programs reading archives written here.
@Suite struct OtherReadersTests {
    /// Commands that test an archive.
    ///
    /// The archive's path is the last argument, and a bad archive gives a status other than 0.
    static let readers: [[String]] = [
        [
            "python3", "-c",
            "import sys, zipfile; sys.exit(zipfile.ZipFile(sys.argv[1]).testzip() is not None)",
        ],
        ["unzip", "-tq"],
        ["bsdtar", "-xOf"],
    ]

    @Test(arguments: readers) func acceptsAnArchiveWrittenHere(reader: [String]) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, RoundTripTests.files)
            let finished = try run(reader + [path])
            #expect(finished.status == 0, "\(finished.output.prefix(2_000))")
        }
    }

    @Test(arguments: readers) func detectsADamagedArchive(reader: [String]) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, [("noise", noise(1_000))])
            var bytes = try FileSystem.contents(ofFile: path)
            bytes[500] ^= 1
            try FileSystem.write(bytes, toNewFile: directory + "/b.zip")
            #expect(try run(reader + [directory + "/b.zip"]).status != 0)
        }
    }

    @Test func pythonAgreesOnEveryField() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, RoundTripTests.files)
            let program = """
                import sys, zipfile
                for i in zipfile.ZipFile(sys.argv[1]).infolist():
                    print(i.filename, i.compress_type, i.file_size, i.compress_size, i.CRC,
                          i.date_time, i.extract_version, i.create_system, oct(i.external_attr >> 16),
                          i.flag_bits, sep='|')
                """
            let finished = try run(["python3", "-c", program, path])
            let ours = try ZipArchive(path: path).entries.map { entry in
                "\(entry.name)|\(entry.method)|\(entry.size)|\(entry.compressedSize)|\(entry.crc32)"
                    + "|(2026, 11, 21, 7, 8, 8)|20|3|0o100600|2048\n"
            }
            #expect(finished.output == ours.joined())
        }
    }

    @Test func otherToolsExtractTheOriginalContent() throws {
        try withTemporaryDirectory { directory in
            try writeArchive(directory + "/a.zip", RoundTripTests.files)
            let extractors = [
                ["unzip", "-q", "../a.zip"], ["bsdtar", "-xf", "../a.zip"],
                ["python3", "-m", "zipfile", "-e", "../a.zip", "."],
            ]
            for extractor in extractors {
                let output = directory + "/" + extractor[0]
                try FileSystem.createDirectory(output)
                let finished = try run(extractor, in: output)
                #expect(finished.status == 0, "\(finished.output)")
                for file in RoundTripTests.files {
                    let path = Path.join(output, file.name)
                    #expect(try FileSystem.contents(ofFile: path) == file.bytes, "\(path)")
                }
            }
            let times = try run(["stat", "-c", "%Y %a", "unzip/metadata.json"], in: directory)
            #expect(times.output == "1795244889 600\n")
        }
    }
}
