internal import FailureArtifactsSystem

/// Sizes of files.
package enum FileManagerSize {
    package static func of(_ path: String) throws -> UInt64 {
        try FileSystem.status(of: path)?.size ?? 0
    }
}
