internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
package import FailureArtifactsSystem

/// Text that is written piece by piece, and never held in memory as a whole.
package protocol WrittenText {
    /// Writes the text.
    ///
    /// - Parameter write: A function that takes the next piece of the text.
    /// - Throws: An error that `write` throws.
    func write(_ write: (String) throws -> Void) throws
}

extension String: WrittenText {
    package func write(_ write: (String) throws -> Void) throws { try write(self) }
}

/// Files that are written under a temporary name and then renamed, so that no reader sees half of one.
package enum WholeFile {
    /// Writes a file, and replaces an existing one.
    ///
    /// - Parameters:
    ///   - text: The content of the file.
    ///   - path: The path of the file. Its directory must exist.
    /// - Throws: An error if writing fails. An existing file is left unchanged then.
    package static func write(_ text: some WrittenText, to path: String) throws {
        let path = try place(of: path)
        let name = ".\(Path.name(of: path)).\(ProcessEnvironment.processID)"
        let part = Path.join(Path.directory(of: path), name)
        try checkDirectory(of: path)
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
        } catch let error as SystemError where error.path == part {
            try? FileSystem.remove(part)
            // The temporary name says nothing to the user.
            throw SystemError(error.operation, path, code: error.code)
        } catch {
            try? FileSystem.remove(part)
            throw error
        }
    }

    /// Checks that a file's directory exists.
    ///
    /// - Throws: An error that names the directory.
    package static func checkDirectory(of path: String) throws {
        let directory = Path.directory(of: path)
        let kind = try FileSystem.status(of: directory)?.kind
        guard kind != .directory else { return }
        throw CommandError(
            .inputOutput,
            "'\(path)' cannot be written: "
                + (kind == nil
                    ? "there is no directory '\(directory)'. Create it first."
                    : "'\(directory)' is not a directory. Give another path."))
    }

    /// Removes a file that is to be written anew; never removes anything but a regular file.
    package static func removeOld(_ path: String) {
        guard let place = try? place(of: path) else { return }
        try? FileSystem.remove(place)
    }

    /// Returns the path of the file itself if the path is a link to it.
    ///
    /// - Throws: An error if the path names something that a file must not replace, such as a terminal or a pipe.
    private static func place(of path: String) throws -> String {
        let place = FileSystem.realPath(of: path) ?? path
        if let status = try FileSystem.status(of: place), status.kind != .regular {
            throw CommandError(
                .inputOutput,
                status.kind == .directory
                    ? "'\(path)' is a directory, and a file is to be written. Give the path of a file."
                    : "'\(path)' is a pipe or a device, so nothing is written there. Give the path of a file."
            )
        }
        return place
    }

    /// Appends text to a file.
    ///
    /// Creates the file if it does not exist.
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
