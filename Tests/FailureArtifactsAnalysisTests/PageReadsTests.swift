import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsAnalysis

/// The VFS that records the pages that are read, and maps files into memory.
@Suite struct PageReadsTests {
    /// In a damaged file, SQLite reads a few bytes beyond a page.
    ///
    /// SQLite's own VFS doesn't map the end of a file either (`nEofBuffer` in `unixFetch`).
    @Test func theLastPageIsNotMapped() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
            try Connection(path: path, mode: .create).execute(
                "PRAGMA page_size = 4096; CREATE TABLE t(a); INSERT INTO t \(rows) SELECT zeroblob(1000) FROM n"
            )
            guard let reads = PageReads(pageSize: 4096) else {
                Issue.record("There is no VFS.")
                return
            }
            let connection = try Connection.untrusted(path, vfs: reads.vfs())
            #expect(try connection.integer(of: "SELECT count(*) FROM t") == 100)
            let count = try connection.integer(of: "PRAGMA page_count")
            var file: UnsafeMutablePointer<sqlite3_file>?
            #expect(
                sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
                    == SQLITE_OK)
            let fetch = try #require(file?.pointee.pMethods.pointee.xFetch)
            var pages: [Bool] = []
            for page in 0..<count {
                var memory: UnsafeMutableRawPointer?
                #expect(fetch(file, page * 4096, 4096, &memory) == SQLITE_OK)
                pages.append(memory != nil)
            }
            #expect(pages == (0..<count).map { $0 < count - 1 })
        }
    }
}
