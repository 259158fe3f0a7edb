internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The SQL that creates a store: its schema and its rows.
package enum StoreScript {
    private struct TooLong: Error {}

    /// Returns the script of a stand-alone database that nothing else uses, for the `sqlite3` shell.
    ///
    /// If it defers foreign keys, it leaves them as they are for the connection that runs it, and all rows must obey them.
    /// The closure receives a clause for each part of the store that the script leaves out.
    ///
    /// Nil if it is larger than the maximum, in bytes.
    package static func bytes(
        of path: String, limits: UntrustedLimits, maximum: Int, defersForeignKeys: Bool = false,
        omissions: (String) throws -> Void
    ) throws -> [UInt8]? {
        let empty = path + ".empty"
        defer { try? FileSystem.remove(empty) }
        try DatabaseCopy.createEmpty(
            at: empty,
            encoding: Connection.untrusted(path, limits: limits).text(of: "PRAGMA encoding"))
        let comparison = try StoreComparison(
            a: .init(path: empty, isPrivate: true), b: .init(path: path, isPrivate: true),
            limits: limits)
        var bytes: [UInt8] = []
        do {
            let summary = try comparison.writeScript(defersForeignKeys: defersForeignKeys) { text in
                bytes += Array(text.utf8)
                if bytes.count > maximum { throw TooLong() }
            }
            for omission in summary.omissions { try omissions(omission) }
        } catch is TooLong {
            return nil
        }
        return bytes
    }
}
