import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// Returns the return addresses of the calling functions.
///
/// The first one is in the caller.
@inline(never) func returnAddresses() throws -> [UInt64] {
    let all = Thread.callStackReturnAddresses.map(\.uint64Value)
    let executable = try #require(LoadedImages.current.images.first)
    // The first address in the executable is in this function.
    return Array(all.drop { !(executable.start..<executable.end).contains($0) }.dropFirst())
}

/// Returns the number of the line with a comment in a source file.
func line(of comment: String, in file: String) throws -> Int {
    let lines = try String(contentsOfFile: file, encoding: .utf8).components(separatedBy: "\n")
    let index = try #require(lines.firstIndex { $0.hasSuffix("// " + comment) })
    return index + 1
}

/// A temporary directory, which is removed at the end.
struct Scratch: ~Copyable {
    let path: String

    init() throws {
        let directory = try FileSystem.createUniqueDirectory(
            in: FileSystem.temporaryDirectory, prefix: "lines-")
        path = try #require(FileSystem.realPath(of: directory))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file, and returns its path.
    @discardableResult
    func write(_ text: String, to name: String, permissions: Int = 0o600) throws -> String {
        let file = URL(filePath: path).appending(path: name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file.path)
        return file.path
    }
}
