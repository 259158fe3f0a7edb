import FailureArtifactsTestKit
import Foundation
import XCTest

/// A test with a store in Core Data's layout, which can be captured and read without Core Data.
final class CoreDataLayoutTests: StoreTestCase<SQLiteTestStore> {
    private func file(_ variable: String) -> URL {
        URL(filePath: ProcessInfo.processInfo.environment[variable] ?? "/nowhere")
    }

    override var content: StoreContent<SQLiteTestStore> { .copy(of: file("CORE_DATA_STORE")) }
    override var storeName: String { "果物" }

    func testSaving() throws {
        let changes = try String(contentsOf: file("CORE_DATA_CHANGES"), encoding: .utf8)
        try store.execute("PRAGMA foreign_keys = OFF; BEGIN;" + changes)
        XCTAssertEqual(try store.value("SELECT count(*) FROM ZFRUIT"), 4)
        try store.execute("COMMIT")
    }
}
