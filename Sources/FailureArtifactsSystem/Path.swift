/// Paths as strings, the way POSIX has them.
package enum Path {
    /// `name` inside `directory`; an absolute `name` stays as it is.
    package static func join(_ directory: String, _ name: String) -> String {
        if directory.isEmpty || name.hasPrefix("/") { return name }
        return directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }

    /// What follows the last slash.
    package static func name(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    /// What precedes the last slash: `/` for a name at the root, `.` where there is no slash.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// A name without its last extension: `ledger` for `ledger.sqlite`; `.hidden` stays whole.
    package static func stem(of name: String) -> String {
        let dot = name.utf8.lastIndex(of: UInt8(ascii: "."))
        guard let dot, dot != name.startIndex else { return name }
        return String(name[..<dot])
    }

    /// The process's working directory; `.` where it has none any more.
    package static var currentDirectory: String {
        guard let current = getcwd(nil, 0) else { return "." }
        defer { free(current) }
        return String(cString: current)
    }

    /// A path that no later change of the working directory can alter.
    package static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : join(currentDirectory, path)
    }
}
