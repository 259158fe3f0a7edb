internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The SQL that creates a store: its schema and its rows.
package enum StoreScript {
    private struct TooLong: Error {}

    /// Returns the script of a store.
    ///
    /// - Parameters:
    ///   - path: A stand-alone database that nothing else uses.
    ///   - limits: The resource limits.
    ///   - maximum: The maximum size, in bytes.
    ///   - defersForeignKeys: True if the script leaves foreign keys as they are for the connection that runs it. All rows
    ///     must obey them.
    ///   - omissions: A closure that receives a clause for each part of the store that the script leaves out.
    /// - Returns: The script, for the `sqlite3` shell; nil if it is larger than the maximum.
    /// - Throws: An error if the store can't be read, or an error of `omissions`.
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
