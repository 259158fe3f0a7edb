/// The files that this process has open, by whatever library.
package enum OpenFiles {
    /// One regular file.
    package struct Entry: Sendable {
        /// The path it was opened at or has been moved to; of a deleted file the path it had.
        package let path: String
        package let status: FileStatus
        /// A path that names the file as long as its owner has it open.
        package let descriptorPath: String
    }

    /// Looks for files that begin with some bytes.
    ///
    /// They are read through the very descriptors that are open, so that no lock is dropped.
    ///
    /// - Parameter magic: The first bytes.
    /// - Returns: Each such file once, in the order of descriptors. Anything may be closed at any time.
    package static func beginning(with magic: [UInt8]) -> [Entry] {
        guard let descriptors = try? descriptors() else { return [] }
        var seen: Set<FileStatus.Identity> = []
        return descriptors.compactMap { descriptor in
            var information = stat()
            guard fstat(descriptor, &information) == 0 else { return nil }
            let status = FileStatus(information)
            guard status.kind == .regular, !seen.contains(status.identity),
                start(of: descriptor, count: magic.count) == magic, let path = path(of: descriptor)
            else { return nil }
            seen.insert(status.identity)
            return Entry(path: path, status: status, descriptorPath: "/dev/fd/\(descriptor)")
        }
    }

    /// A path by which a file can be read that has lost its name while it is open.
    ///
    /// - Parameters:
    ///   - path: The path it had.
    ///   - other: Another such path: of several files that had the same name, the one is meant that was opened
    ///     next.
    /// - Returns: A path that names the file as long as its owner has it open; nil where there is none.
    package static func descriptorPath(ofDeleted path: String, openedAfter other: String) -> String? {
        let first = CInt(Path.name(of: other)) ?? -1
        let descriptor = (try? descriptors())?.first { descriptor in
            var information = stat()
            return descriptor > first && fstat(descriptor, &information) == 0
                && information.st_nlink == 0 && self.path(of: descriptor) == path
        }
        return descriptor.map { "/dev/fd/\($0)" }
    }

    /// The process's descriptors, the smallest first; among them may be some that are closed by now.
    ///
    /// Each capture asks for them several times: a debug build takes long to make strings of their numbers.
    static func descriptors() throws(SystemError) -> [CInt] {
        // The process's own table on Linux and on Apple's systems.
        let table = "/dev/fd"
        guard let stream = opendir(table) else { throw .last("list", table) }
        defer { closedir(stream) }
        var descriptors: [CInt] = []
        errno = 0
        while let entry = readdir(stream) {
            withUnsafePointer(to: &entry.pointee.d_name) { name in
                let digits = UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self)
                // Not "." and "..".
                if isdigit(CInt(digits.pointee)) != 0 {
                    descriptors.append(CInt(strtol(digits, nil, 10)))
                }
            }
            errno = 0
        }
        guard errno == 0 else { throw .last("list", table) }
        return descriptors.sorted()
    }

    /// Whether a process has a file open, as far as the system tells; false where it does not.
    package static func has(_ process: Int32, open identity: FileStatus.Identity) -> Bool {
        if process == getpid() { return (try? FileSystem.descriptor(of: identity)) != nil }
        // Linux's list of another process's descriptors can be looked at by the same user.
        let directory = "/proc/\(process)/fd"
        let names = (try? FileSystem.contents(ofDirectory: directory)) ?? []
        return names.contains { name in
            (try? FileSystem.status(of: Path.join(directory, name))?.identity) == identity
        }
    }

    private static func start(of descriptor: CInt, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        // A descriptor that was opened for writing only can't be read.
        return pread(descriptor, &bytes, count, 0) == count ? bytes : nil
    }

    private static func path(of descriptor: CInt) -> String? {
        #if canImport(Darwin)
        var bytes = [CChar](repeating: 0, count: Int(MAXPATHLEN))
        guard fcntl(descriptor, F_GETPATH, &bytes) == 0 else { return nil }
        return bytes.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
        #else
        guard let path = try? FileSystem.destination(ofLink: "/proc/self/fd/\(descriptor)") else {
            return nil
        }
        let mark = " (deleted)"
        guard path.hasSuffix(mark) else { return path }
        // The mark is the kernel's only if no file has that very name.
        return (try? FileSystem.status(of: path)) == nil ? String(path.dropLast(mark.count)) : path
        #endif
    }
}
