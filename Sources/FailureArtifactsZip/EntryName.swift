internal import FailureArtifactsSystem

/// The rules for entry names, and their encodings.
enum EntryName {
    /// Returns true if extracting an entry of this name below a directory can't lead out of it, on any
    /// system.
    ///
    /// It refuses names that are empty or absolute, or that start with a drive letter. It also refuses names
    /// with a `..` component, with a backslash (a separator to some readers) or with NUL (the end of the name
    /// to others).
    static func isSafe(_ name: String) -> Bool {
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

    /// Decodes the name of an entry.
    ///
    /// The name is UTF-8 if the header's flag says so. Otherwise (APPNOTE appendix D) the Unicode path field
    /// comes first. Without it, valid UTF-8 is taken as such, because many tools write it without the flag,
    /// and everything else is code page 437.
    ///
    /// - Parameter header: The entry's header in the central directory.
    /// - Returns: The name.
    /// - Throws: `unsafeName` if the name is unsafe, or marked as UTF-8 but invalid.
    static func decode(_ header: CentralDirectoryHeader) throws(ZipError.Reason) -> String {
        let isUTF8 = header.flags & EntryAttributes.hasUTF8Name != 0
        let bytes = isUTF8 ? header.name : header.unicodeName ?? header.name
        let mustBeUTF8 = isUTF8 || header.unicodeName != nil
        let name: String
        // Decoding replaces invalid bytes, so the text equals the bytes only if they are valid.
        let text = String(decoding: bytes, as: UTF8.self)
        if text.utf8.elementsEqual(bytes) {
            name = text
        } else if mustBeUTF8 {
            throw .unsafeName
        } else {
            name = String(String.UnicodeScalarView(bytes.map { scalar(ofCodePage437: $0) }))
        }
        guard isSafe(name) else { throw .unsafeName }
        return name
    }

    private static func scalar(ofCodePage437 byte: UInt8) -> Unicode.Scalar {
        byte < 0x80 ? Unicode.Scalar(byte) : codePage437[Int(byte) - 0x80]
    }

    /// The upper half of IBM's code page 437.
    private static let codePage437 = Array(
        ("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
            + "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}").unicodeScalars)
}
