/// POSIX paths as strings.
package enum Path {
    /// Appends `name` to `directory`.
    ///
    /// Returns an absolute `name` unchanged.
    package static func join(_ directory: String, _ name: String) -> String {
        if directory.isEmpty || name.hasPrefix("/") { return name }
        return directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }

    /// The part after the last slash.
    package static func name(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    /// The part before the last slash: `/` for a name at the root, `.` if there is no slash.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The name without its last extension: `ledger` for `ledger.sqlite`.
    ///
    /// `.hidden` has no extension.
    package static func stem(of name: String) -> String {
        let dot = name.utf8.lastIndex(of: UInt8(ascii: "."))
        guard let dot, dot != name.startIndex else { return name }
        return String(name[..<dot])
    }

    /// The process's working directory; `.` if it was removed.
    package static var currentDirectory: String {
        guard let current = getcwd(nil, 0) else { return "." }
        defer { free(current) }
        return String(cString: current)
    }

    /// An absolute path, which stays valid if the working directory changes.
    package static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : join(currentDirectory, path)
    }

    /// Returns a path relative to a directory if the path is inside it, or else the path itself.
    package static func relative(_ path: String, to directory: String) -> String {
        let start = directory.hasSuffix("/") ? directory : directory + "/"
        guard path.hasPrefix(start), path.count > start.count else { return path }
        let rest = String(path.dropFirst(start.count))
        return rest.hasPrefix("-") || rest.hasPrefix("/") ? path : rest
    }
}
