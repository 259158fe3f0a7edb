import Foundation
import XCTest

/// A test with a directory for its stores.
///
/// It is skipped if it doesn't run with stores of the kind of this run.
open class StoreTestCase: XCTestCase {
    private var directory: URL?

    open override func setUpWithError() throws {
        directory = try StoreKind.freshDirectory()
        if let reason = try StoreKind.current.reasonToSkip(name) { throw XCTSkip(reason) }
    }

    open override func tearDownWithError() throws {
        if let directory { try FileManager.default.removeItem(at: directory) }
    }

    /// Returns the path of a file in the directory.
    public func path(_ file: String) throws -> String {
        try XCTUnwrap(directory).appendingPathComponent(file).path
    }
}
