internal import FailureArtifactsSystem

/// The rules for names of entries, and their encodings.
enum EntryName {
    /// Whether a name can be extracted below a directory without leading out of it, on every system.
    ///
    /// Refused are names that are empty, absolute, start with a drive letter, or hold `..` as a part, a
    /// backslash (a separator to some readers) or NUL (the end of the name to others).
    static func isSafe(_ name: String) -> Bool {
        let bytes = name.utf8
        let slash = UInt8(ascii: "/")
        guard let first = bytes.first, first != slash else { return false }
        guard !bytes.contains(0), !bytes.contains(UInt8(ascii: "\\")) else { return false }
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20)
        if isLetter, bytes.dropFirst().first == UInt8(ascii: ":") { return false }
        return !parts(of: name).contains { $0.elementsEqual("..".utf8) }
    }

    /// Whether the writer takes a name for a file: safe, of at most 65,535 bytes, and without parts that are
    /// empty or a dot, which would give one file several names.
    static func isWritable(_ name: String) -> Bool {
        isSafe(name) && name.utf8.count <= Int(UInt16.max)
            && parts(of: name).allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) }
    }

    private static func parts(of name: String) -> [Substring.UTF8View] {
        name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Substring($0).utf8 }
    }

    /// The name of an entry that is read.
    ///
    /// UTF-8 where the flag says so; where it does not (APPNOTE appendix D), the Unicode path field, then
    /// UTF-8 all the same where the bytes happen to be valid, as many tools write it, and last code page 437.
    ///
    /// - Parameter header: The entry's header in the central directory.
    /// - Returns: The name.
    /// - Throws: `unsafeName` where the name is refused or says to be UTF-8 and is not.
    static func decode(_ header: CentralDirectoryHeader) throws(ZipError.Reason) -> String {
        let isUTF8 = header.flags & EntryAttributes.hasUTF8Name != 0
        let bytes = isUTF8 ? header.name : header.unicodeName ?? header.name
        let mustBeUTF8 = isUTF8 || header.unicodeName != nil
        let name: String
        // Decoding replaces what is not valid, so only valid bytes come out as they were.
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
