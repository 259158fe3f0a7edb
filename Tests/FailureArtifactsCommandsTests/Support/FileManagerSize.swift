import FailureArtifactsSystem

/// Sizes of files.
enum FileManagerSize {
    static func of(_ path: String) throws -> UInt64 { try FileSystem.status(of: path)?.size ?? 0 }
}
