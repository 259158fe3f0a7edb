internal import FailureArtifactsReading

/// Escapes text for addresses (RFC 3986, section 2.1).
package enum URLText {
    /// Returns a path whose parts are escaped, and whose slashes are kept.
    package static func path(_ path: String) -> String {
        path.utf8.map { byte in
            isUnreserved(byte) || byte == UInt8(ascii: "/")
                ? String(UnicodeScalar(byte)) : "%" + hexadecimalText(CollectionOfOne(byte))
        }.joined()
    }

    /// True for the characters that need no escape (section 2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }
}
