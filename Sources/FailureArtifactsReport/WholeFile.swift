internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
package import FailureArtifactsSystem

/// What is written piece by piece, and never as a whole in memory.
package protocol WrittenText {
    /// Writes it.
    ///
    /// - Parameter write: Takes a piece of it.
    /// - Throws: What `write` throws.
    func write(_ write: (String) throws -> Void) throws
}

extension String: WrittenText {
    package func write(_ write: (String) throws -> Void) throws { try write(self) }
}

/// Files that are written whole: beside their place, and then put there, so that nobody sees half of one.
package enum WholeFile {
    /// Writes a file over one that may be there.
    ///
    /// - Parameters:
    ///   - text: What is in it.
    ///   - path: Where; its directory must exist.
    /// - Throws: A failure to write; then what was there is left as it was.
    package static func write(_ text: some WrittenText, to path: String) throws {
        let path = try place(of: path)
        let name = ".\(Path.name(of: path)).\(ProcessEnvironment.processID)"
        let part = Path.join(Path.directory(of: path), name)
        do {
            let file = try File(creating: part, permissions: 0o644)
            var offset: UInt64 = 0
            try text.write { text in
                let bytes = Array(text.utf8)
                try bytes.withBytes { (buffer) throws(SystemError) in
                    try file.write(buffer, at: offset)
                }
                offset += UInt64(bytes.count)
            }
            try file.close()
            try FileSystem.rename(part, to: path)
        } catch {
            try? FileSystem.remove(part)
            throw error
        }
    }

    /// Removes a file that is to be written anew; whatever else is there is left alone.
    package static func removeOld(_ path: String) {
        guard let place = try? place(of: path) else { return }
        try? FileSystem.remove(place)
    }

    /// The file itself, where the path is a link to it.
    ///
    /// - Throws: That something else is there, such as a terminal or a pipe, which a file must not replace.
    private static func place(of path: String) throws -> String {
        let place = FileSystem.realPath(of: path) ?? path
        if let status = try FileSystem.status(of: place), status.kind != .regular {
            throw CommandError(.inputOutput, "'\(path)' is no regular file: nothing is written there.")
        }
        return place
    }

    /// Adds text to the end of a file, which is created where there is none.
    package static func append(_ text: String, to path: String) throws(SystemError) {
        if try FileSystem.status(of: path) == nil {
            let file = try File(creating: path, permissions: 0o644)
            try file.close()
        }
        let file = try File(updating: path)
        let size = try file.size()
        try Array(text.utf8).withBytes { (buffer) throws(SystemError) in
            try file.write(buffer, at: size)
        }
        try file.close()
    }
}
