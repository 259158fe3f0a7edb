import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

/// Files that are not as long as the system says.
@Suite struct InputTests {
    #if os(Linux)
    /// The first is said to be empty and is not, the second is said to fill a page and does not.
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

    @Test func aFileThatCannotBeReadIsNamed() throws {
        try withTemporaryDirectory { directory in
            let missing = directory + "/missing.zip"
            let error = #expect(throws: ZipError.self) { _ = try ZipArchive(path: missing) }
            #expect(
                error?.description
                    == "'\(missing)' could not be processed: cannot open '\(missing)': "
                    + "No such file or directory.")
        }
    }
}
