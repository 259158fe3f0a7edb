import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

/// Files whose actual length differs from the size that the system reports.
@Suite struct InputTests {
    #if os(Linux)
    /// The first file reports size 0 but has content.
    ///
    /// The second one reports a page but is shorter.
    @Test(arguments: ["/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled"], [0, 1])
    func aChangeOfLengthIsNoticed(path: String, level: Int) throws {
        guard try FileSystem.status(of: path) != nil else { return }
        try withTemporaryDirectory { directory in
            var writer = try ZipWriter(creating: directory + "/a.zip", level: level)
            let input = try File(reading: path)
            let error = #expect(throws: ZipError.self) {
                try writer.addEntry(named: "a", contentsOf: input, modified: someTime)
            }
            #expect(error?.reason == .inputChanged)
        }
    }
    #endif

    @Test func contentThatNeedsZIP64IsRefused() throws {
        try withTemporaryDirectory { directory in
            var writer = try ZipWriter(creating: directory + "/a.zip")
            let input = try File(creating: directory + "/hole")
            try input.resize(to: 0xFFFF_FFFF)
            var error = #expect(throws: ZipError.self) {
                try writer.addEntry(named: "hole", contentsOf: input, modified: someTime)
            }
            #expect(error?.reason == .tooLarge(limit: 0xFFFF_FFFF))
            for index in 1..<65_535 {
                try writer.addEntry(named: "\(index)", bytes: [], modified: someTime)
            }
            error = #expect(throws: ZipError.self) {
                try writer.addEntry(named: "65535", bytes: [], modified: someTime)
            }
            #expect(error?.reason == .tooLarge(limit: 65_535))
            try writer.finish()
            #expect(try ZipArchive(path: directory + "/a.zip").entries.count == 65_534)
        }
    }

    @Test func aFileThatCannotBeReadIsNamed() throws {
        try withTemporaryDirectory { directory in
            let missing = directory + "/missing.zip"
            let error = #expect(throws: ZipError.self) { _ = try ZipArchive(path: missing) }
            #expect(
                error?.description
                    == "'\(missing)' could not be processed: cannot open '\(missing)': "
                    + "No such file or directory.")
            #expect(error?.sentence == "Cannot open '\(missing)': No such file or directory.")
            let entry = ZipError(archive: "a.zip", entry: "b", reason: .badChecksum)
            #expect(entry.sentence.hasPrefix("Entry 'b' of 'a.zip' is damaged"))
        }
    }
}
