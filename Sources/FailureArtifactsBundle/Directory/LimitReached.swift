/// The error for a bundle that would exceed a limit.
package struct LimitReached: Error, CustomStringConvertible {
    package let limit: DirectoryLimits.Limit
    /// The path of the artifacts directory.
    let path: String
    let limits: DirectoryLimits

    /// A full sentence.
    package var description: String {
        switch limit {
        case .bundles:
            "'\(path)' holds as many bundles as it may, \(limits.bundles); further failures leave none "
                + "(\(limit.rawValue))."
        case .totalBytes:
            "The bundles in '\(path)' have as many bytes as they may, \(limits.totalBytes); "
                + "further failures leave less, or nothing (\(limit.rawValue))."
        case .bundleBytes, .storeBytes:
            "The bundle would have more than the \(limits.bundleBytes) bytes that it may have "
                + "(\(limit.rawValue))."
        case .freeBytes:
            "The volume of '\(path)' has hardly more than the \(limits.freeBytes) bytes left that are to be "
                + "kept free (\(limit.rawValue))."
        }
    }
}
