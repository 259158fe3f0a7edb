internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Checks of paths from the command line, before a command does its work.
enum PathCheck {
    static func directory(_ path: String) throws {
        guard let status = try FileSystem.status(of: path) else {
            throw CommandError(
                .noInput, "There is no directory '\(path)'. Give the directory that holds the bundles.")
        }
        guard status.kind == .directory else {
            throw CommandError(
                .noInput, "'\(path)' is not a directory. Give the directory that holds the bundles.")
        }
        _ = try FileSystem.contents(ofDirectory: path)
    }
}
