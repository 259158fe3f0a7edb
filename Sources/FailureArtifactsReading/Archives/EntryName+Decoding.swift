internal import FailureArtifactsSystem
internal import FailureArtifactsZip

extension EntryName {
    /// Decodes the name of an entry.
    ///
    /// The name is UTF-8 if the header's flag says so. Otherwise (APPNOTE appendix D) the Unicode path field
    /// comes first. Without it, valid UTF-8 is taken as such, because many tools write it without the flag,
    /// and everything else is code page 437.
    static func decode(_ header: CentralDirectoryHeader) throws(ZipError.Reason) -> String {
        let isUTF8 = header.flags & ZipFormat.Flag.hasUTF8Name != 0
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
