/// The files that any library in this process has open.
package enum OpenFiles {
    /// A regular file.
    package struct Entry: Sendable {
        /// The file's path when it was opened or after it was moved; for a deleted file, its last path.
        package let path: String
        package let status: FileStatus
        /// A path that refers to the file until its owner closes it.
        package let descriptorPath: String
    }

    /// Finds open files that start with the given bytes, in the order of their descriptors and without duplicates.
    ///
    /// They are read through their open descriptors, so that no lock is dropped. Their owners may close them at any
    /// time.
    package static func beginning(with magic: [UInt8]) -> [Entry] {
        guard let descriptors = try? descriptors() else { return [] }
        var seen: Set<FileStatus.Identity> = []
        return descriptors.compactMap { descriptor in
            guard let status = FileStatus(ofDescriptor: descriptor), status.kind == .regular,
                !seen.contains(status.identity),
                start(of: descriptor, count: magic.count) == magic, let path = path(of: descriptor)
            else { return nil }
            seen.insert(status.identity)
            return Entry(path: path, status: status, descriptorPath: "/dev/fd/\(descriptor)")
        }
    }

    /// Finds a path for reading a deleted file that is still open; nil if no such file is open.
    ///
    /// It is valid until the file's owner closes the file. If several open files had the same last path, the path of
    /// the one after `other`, the result of an earlier call, is returned.
    package static func descriptorPath(ofDeleted path: String, openedAfter other: String) -> String? {
        let first = CInt(Path.name(of: other)) ?? -1
        let descriptor = (try? descriptors())?.first { descriptor in
            descriptor > first && FileStatus(ofDescriptor: descriptor)?.links == 0
                && self.path(of: descriptor) == path
        }
        return descriptor.map { "/dev/fd/\($0)" }
    }

    /// Returns the process's open descriptors in ascending order.
    ///
    /// Some of them may be closed by now.
    static func descriptors() throws(SystemError) -> [CInt] {
        // On Linux and Apple platforms, this lists the process's own descriptors.
        try FileSystem.contents(ofDirectory: "/dev/fd").compactMap { CInt($0) }.sorted()
    }

    /// Returns true if a process has a file open; false if not or if unknown.
    package static func has(_ process: Int32, open identity: FileStatus.Identity) -> Bool {
        if process == getpid() { return (try? FileSystem.descriptor(of: identity)) != nil }
        // On Linux, a user may list the descriptors of their own other processes.
        let directory = "/proc/\(process)/fd"
        let names = (try? FileSystem.contents(ofDirectory: directory)) ?? []
        return names.contains { name in
            (try? FileSystem.status(of: Path.join(directory, name))?.identity) == identity
        }
    }

    private static func start(of descriptor: CInt, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        // Reading fails if the descriptor is open for writing only.
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
        // The kernel added the suffix, unless a file has exactly that name.
        return (try? FileSystem.status(of: path)) == nil ? String(path.dropLast(mark.count)) : path
        #endif
    }
}
