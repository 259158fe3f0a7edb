import Foundation
import Stores
import XCTest

/// A test with a directory of its own.
class UpgradeTestCase: XCTestCase {
    private var directory: URL?

    override func setUpWithError() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("upgrades-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        self.directory = directory
        if let reason = try StoreKind.current.reasonToSkip(name) { throw XCTSkip(reason) }
    }

    override func tearDownWithError() throws {
        if let directory { try FileManager.default.removeItem(at: directory) }
    }

    func path(_ name: String) throws -> String {
        try XCTUnwrap(directory).appendingPathComponent(name).path
    }
}
