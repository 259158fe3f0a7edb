import FailureArtifactsSQLite
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsBundle

@Suite struct FailureNoteTests {
    private var metadata: BundleMetadata {
        get throws {
            var metadata = try Place().metadata([])
            metadata.failures = [
                .init(
                    message: "XCTAssertEqual failed:\n```\n# \u{1B}[31m\u{202E}", file: "Tests/A.swift",
                    line: 7, kind: .assertion, at: .now)
            ]
            return metadata
        }
    }

    @Test func theLastStatementsOfTheTestAreThere() throws {
        var records = (1...12).map { number in
            var record = StatementRecord(
                at: "", changes: 1, connection: 1, order: UInt64(number), phase: .test,
                sql: "INSERT INTO t VALUES (?)", thread: "1")
            record.values = [
                .init(.integer(Int64(number))), .init(.text("a\nb")), .init(.blob([1, 2])),
            ]
            record.source = .init(file: "Sources/L.swift", function: "add(_:)", line: number)
            return record
        }
        records[11].phase = .earlier
        records.reverse()
        let text = FailureNote(try metadata, records).description
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count { $0.contains("INSERT") } == 10)
        #expect(!text.contains("values 1,") && !text.contains("values 12"))
        #expect(
            text.contains(
                """
                    INSERT INTO t VALUES (?)  (values 11, 'a b', a BLOB of 2 bytes, 1 row)
                        add(_:) Sources/L.swift:11

                To find out why
                """), "\(text)")
    }

    /// No text of the test ends the code that it is in, or reaches a terminal.
    @Test func contentIsData() throws {
        let text = FailureNote(try metadata).description
        #expect(
            text.hasPrefix(
                """
                # A test failed

                    \(try metadata.test.title)
                    XCTAssertEqual failed:
                    ```
                    #  [31m 
                    Tests/A.swift:7

                To find out why
                """), "\(text)")
        #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0x7F || $0 == "\n" })
    }
}
