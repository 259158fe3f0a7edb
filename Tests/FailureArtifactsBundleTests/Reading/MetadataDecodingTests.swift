import FailureArtifactsReading
import FailureArtifactsSQLite
import Testing

@testable import FailureArtifactsBundle

@Suite struct MetadataDecodingTests {
    private func metadata(version: String, more: String = "") -> [UInt8] {
        Array(
            """
            {"formatVersion": \(version), \(more)
             "test": {"framework": "XCTest", "suite": "S", "name": "test果物", "attempt": 1, "new": null},
             "outcome": "timedOut", "fingerprint": "0", "failures": [], "stores": [], "attachments": [],
             "environment": {"operatingSystem": "o", "architecture": "a", "swift": "s", "sqlite": "q",
                             "processID": 1},
             "capture": {"at": "2026-11-21T07:08:09.123Z", "duration": 1, "limitsHit": []}, "warnings": []}
            """.utf8)
    }

    @Test(arguments: [
        ("\"1.0\"", FormatVersion(major: 1, minor: 0)), ("\"1\"", FormatVersion(major: 1, minor: 0)),
        ("1", FormatVersion(major: 1, minor: 0)), ("1.7", FormatVersion(major: 1, minor: 7)),
        ("\"1.12\"", FormatVersion(major: 1, minor: 12)), ("\"0.9\"", FormatVersion(major: 0, minor: 9)),
    ])
    func versionsThatAreRead(_ json: String, _ version: FormatVersion) throws {
        let read = try BundleMetadata(
            json: metadata(version: json, more: "\"later\": {\"a\": []},"), of: "b")
        #expect(read.formatVersion == version)
        #expect(read.test.name == "test果物")
        #expect(read.outcome == .timedOut)
    }

    @Test func historiesAreEntries() throws {
        var metadata = try BundleMetadata(json: metadata(version: "1"), of: "b")
        let capture = BundleMetadata.Store.Capture(method: "fileCopy", consistent: true, duration: 0)
        metadata.stores = ["a", "b", "c"].map { name in
            BundleMetadata.Store(
                name: name, entry: "stores/\(name).sqlite", storage: .file, capture: capture,
                bytes: .init())
        }
        metadata.stores[0].history = .init(
            entry: "history/a.wal-history", transactions: 3, bytes: 9000, reason: "There were more.")
        metadata.stores[1].history = .init(reason: "The WAL held no transaction.")
        let read = try BundleMetadata(json: metadata.json(), of: "b")
        #expect(read == metadata)
        #expect(
            read.entries == [
                "stores/a.sqlite", "stores/b.sqlite", "stores/c.sqlite", "history/a.wal-history",
            ])
        #expect(read.historyEntries == ["history/a.wal-history"])
    }

    @Test(arguments: ["\"2.0\"", "\"2\"", "2", "2.0", "\"99\""])
    func newerVersionsAreRefused(_ json: String) throws {
        let error = #expect(throws: BundleError.self) {
            // The rest need not fit the format.
            try BundleMetadata(
                json: Array("{\"formatVersion\": \(json), \"test\": 1}".utf8), of: "b.zip")
        }
        guard case .newerVersion = error?.reason else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.description.contains("use a newer failure-artifacts") == true)
    }

    @Test(arguments: [
        ("\"x\"", "'formatVersion' has a value that is not known"), ("\"1.0.0\"", "not known"),
        ("-1", "not known"), ("1e300", "not known"), ("true", "another type"),
        ("null", "'formatVersion'"),
    ])
    func versionsThatAreNone(_ json: String, _ part: String) {
        let error = #expect(throws: BundleError.self) {
            try BundleMetadata(json: metadata(version: json), of: "b.zip")
        }
        #expect(error?.description.contains(part) == true, "\(String(describing: error))")
    }

    @Test func theErrorSaysWhere() {
        let json = String(decoding: metadata(version: "1"), as: UTF8.self)
        let cases = [
            (
                "\"failures\": []", "\"failures\": [{\"message\": 1}]",
                "'failures[0].message' has another type than it should"
            ),
            ("\"failures\": []", "\"failures\": [{}]", "'failures[0]' has no 'message'"),
            ("\"timedOut\"", "\"vanished\"", "'outcome' has a value that is not known"),
            ("\"swift\": \"s\"", "\"swift\": null", "'environment.swift' is null"),
        ]
        for (old, new, part) in cases {
            let error = #expect(throws: BundleError.self) {
                try BundleMetadata(json: Array(json.replacing(old, with: new).utf8), of: "b.zip")
            }
            #expect(error?.description == "The metadata.json of 'b.zip' cannot be read: \(part).")
        }
    }

    @Test func deepNestingIsNoTrap() {
        let deep = String(repeating: "[", count: 200_000)
        #expect(throws: BundleError.self) { try BundleMetadata(json: Array(deep.utf8), of: "b.zip") }
        #expect(throws: BundleError.self) { try BundleMetadata(json: [0xFF, 0xFE, 0x00], of: "b.zip") }
    }
}
