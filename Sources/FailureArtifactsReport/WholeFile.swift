internal import FailureArtifactsAnalysis
package import FailureArtifactsSystem

extension String: WrittenText {
    package func write(_ write: (String) throws -> Void) throws { try write(self) }
}

/// Files that are written under a temporary name and then renamed, so that no reader sees half of one.
///
/// Missing directories of a file's path are created.
package enum WholeFile {
    /// The temporary names of the files that are being written.
    private static let unfinished = Lock<Set<String>>([])

    /// Removes the files that are being written; for a process that is about to end.
    package static func removeUnfinished() {
        for part in unfinished.withLock(\.self) { try? FileSystem.remove(part) }
    }

    /// Writes a file, and replaces an existing one.
    package static func write(_ text: some WrittenText, to path: String) throws {
        try replace(place(of: path), by: text)
    }

    /// Writes a file of fixed name in a directory that others may write to, and replaces an existing one.
    ///
    /// A link of that name is replaced, and its target stays unchanged.
    package static func write(
        _ text: some WrittenText, toOwn path: String, permissions: UInt16? = nil
    ) throws {
        if let status = try FileSystem.statusWithoutFollowing(path), status.kind == .directory {
            throw refusal(path, status.kind)
        }
        try replace(path, by: text, permissions: permissions)
    }

    private static func replace(
        _ path: String, by text: some WrittenText, permissions: UInt16? = nil
    ) throws {
        try publish(path, rename: FileSystem.rename) { part in
            let file = try File(creating: part, permissions: permissions == nil ? 0o644 : 0o600)
            var offset: UInt64 = 0
            try text.write { text in
                let bytes = Array(text.utf8)
                try bytes.withBytes { (buffer) throws(SystemError) in
                    try file.write(buffer, at: offset)
                }
                offset += UInt64(bytes.count)
            }
            try file.close()
            if let permissions { try FileSystem.setPermissions(permissions, of: part) }
        }
    }

    /// Makes a file that must not exist yet.
    package static func create(_ path: String, _ make: (String) throws -> Void) throws {
        try checkNew(path)
        try publish(path, rename: FileSystem.renameExclusively, make)
    }

    /// Checks that a new file can be made, before the work that produces its content; it creates nothing.
    package static func checkNew(_ path: String, choice: String = "file") throws {
        guard try FileSystem.status(of: path) == nil else {
            throw CommandError(
                .usage, "'\(path)' exists, and is not written over: choose another \(choice) with -o.")
        }
        try checkIsFilePath(path)
        try checkDirectory(Path.directory(of: path), for: path)
    }

    /// Creates a directory for output, and its missing parents; an existing one stays unchanged.
    ///
    /// - `path`: the path for which the directory is needed; nil for the directory itself.
    package static func createDirectory(_ directory: String, for path: String? = nil) throws {
        try checkDirectory(directory, for: path)
        try FileSystem.createDirectory(directory, permissions: 0o777)
    }

    /// Checks that a directory for output exists or can be created, and that it can be written to; it creates nothing.
    package static func checkDirectory(_ directory: String, for path: String? = nil) throws {
        guard let error = FileSystem.obstacle(toWritingInto: directory) else { return }
        guard error.isAlreadyExists else { throw error }
        throw CommandError(
            .inputOutput,
            "'\(path ?? directory)' cannot be written: '\(error.path)' is not a directory. Give another path."
        )
    }

    /// Makes a file under a temporary name beside its path, and renames it.
    private static func publish(
        _ path: String, rename: (String, String) throws(SystemError) -> Void,
        _ make: (String) throws -> Void
    ) throws {
        let directory = Path.directory(of: path)
        // A process that was killed may have left a file, and process numbers repeat in containers.
        let random = String(UInt64.random(in: 0 ... .max), radix: 16)
        let part = Path.join(directory, ".failure-artifacts-" + random)
        try createDirectory(directory, for: path)
        unfinished.withLock { _ = $0.insert(part) }
        defer { unfinished.withLock { _ = $0.remove(part) } }
        do {
            try make(part)
            try rename(part, path)
        } catch {
            try? FileSystem.remove(part)
            // The temporary name says nothing to the user.
            guard let error = error as? SystemError, [part, path].contains(error.path) else {
                throw error
            }
            throw SystemError(error.path == part ? error.operation : "create", path, code: error.code)
        }
    }

    /// Rejects a path that ends in a slash, which names a directory.
    private static func checkIsFilePath(_ path: String) throws {
        if path.hasSuffix("/") { throw refusal(path, .directory) }
    }

    private static func refusal(_ path: String, _ kind: FileStatus.Kind) -> CommandError {
        CommandError(
            .inputOutput,
            "'\(path)' is \(kind.noun), so no file is written there. Give the path of a file.")
    }

    /// Removes a file that is to be written anew; never removes anything but a regular file.
    package static func removeOld(_ path: String) {
        guard let place = try? place(of: path) else { return }
        try? FileSystem.remove(place)
    }

    /// Returns the path of the file itself if the path is a link to it.
    private static func place(of path: String) throws -> String {
        try checkIsFilePath(path)
        let place = FileSystem.realPath(of: path) ?? path
        if let status = try FileSystem.status(of: place), status.kind != .regular {
            throw refusal(path, status.kind)
        }
        return place
    }

    /// Appends text to a file; creates the file if it does not exist.
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
