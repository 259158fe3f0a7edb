/// The rules for entry names.
package enum EntryName {
    /// Returns true if extracting an entry of this name below a directory can't lead out of it, on any
    /// system.
    ///
    /// It refuses names that are empty or absolute, or that start with a drive letter. It also refuses names
    /// with a `..` component, with a backslash (a separator to some readers) or with NUL (the end of the name
    /// to others).
    package static func isSafe(_ name: String) -> Bool {
        let bytes = name.utf8
        let slash = UInt8(ascii: "/")
        guard let first = bytes.first, first != slash else { return false }
        guard !bytes.contains(0), !bytes.contains(UInt8(ascii: "\\")) else { return false }
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20)
        if isLetter, bytes.dropFirst().first == UInt8(ascii: ":") { return false }
        return !parts(of: name).contains { $0.elementsEqual("..".utf8) }
    }

    /// Returns true if the writer accepts a name for a file.
    ///
    /// The name has to be safe and have at most 65,535 bytes. Empty and `.` components are refused, because
    /// they would give one file several names.
    static func isWritable(_ name: String) -> Bool {
        isSafe(name) && name.utf8.count <= Int(UInt16.max)
            && parts(of: name).allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) }
    }

    private static func parts(of name: String) -> [Substring.UTF8View] {
        name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Substring($0).utf8 }
    }
}
