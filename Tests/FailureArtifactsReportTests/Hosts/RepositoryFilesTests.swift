import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsReport

/// A checkout on disk, with empty files.
final class Checkout: Sendable {
    let root: String

    init(_ files: String...) throws {
        root = try FileSystem.createUniqueDirectory(
            in: FileSystem.temporaryDirectory, prefix: "checkout-")
        for file in files { try add(file) }
    }

    deinit { try? FileSystem.remove(root) }

    func add(_ file: String) throws {
        let path = Path.join(root, file)
        try FileSystem.createDirectory(Path.directory(of: path))
        try FileSystem.write([], toNewFile: path)
    }
}

@Suite struct RepositoryFilesTests {
    @Test func aPackageInASubdirectory() throws {
        let checkout = try Checkout(
            "server/Sources/Ledger/Ledger.swift", "server/Tests/LedgerTests/Deep/LedgerTests.swift",
            "server/Tests/LedgerTests/A/Twice.swift", "server/Tests/LedgerTests/B/Twice.swift",
            "tools/Sources/Ledger/Ledger.swift")
        let files = RepositoryFiles(root: checkout.root, package: checkout.root + "/server")
        let (ledger, tests) = (
            "server/Sources/Ledger/Ledger.swift", "server/Tests/LedgerTests/Deep/LedgerTests.swift"
        )
        #expect(files.path(of: "Sources/Ledger/Ledger.swift") == ledger)
        #expect(files.path(of: "\(checkout.root)/\(ledger)") == ledger)
        #expect(files.path(of: "LedgerTests/LedgerTests.swift") == tests)
        #expect(files.path(of: "Ledger/Ledger.swift") == ledger)
        #expect(files.path(of: "LedgerTests/Twice.swift") == nil)
        #expect(files.path(of: "Sources/Ledger/Missing.swift") == nil)
        #expect(files.path(of: "/usr/include/sqlite3.h") == nil)
        // The command runs in a directory of the package.
        let inside = RepositoryFiles(root: checkout.root + "/", package: checkout.root + "/server/Tests")
        #expect(inside.path(of: "Sources/Ledger/Ledger.swift") == ledger)
    }

    @Test func nothingIsKnownWithoutACheckout() throws {
        let checkout = try Checkout("Sources/A.swift")
        for root in [nil, ""] {
            let files = RepositoryFiles(root: root, package: checkout.root)
            #expect(files.path(of: "Sources/A.swift") == nil)
            #expect(files.path(of: checkout.root + "/Sources/A.swift") == nil)
        }
    }
}
