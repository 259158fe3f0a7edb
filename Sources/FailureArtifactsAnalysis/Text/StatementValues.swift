package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension StatementRecord {
    /// The text with the values in place of the parameters, as far as they are known; long values are shortened.
    package var sqlWithValues: String {
        guard let values, cut != true else { return sql }
        let text = Array(sql.utf8)
        var result: [UInt8] = []
        var copied = 0
        for parameter in StatementParameter.all(in: text) where parameter.number <= values.count {
            let value = StoredValue(values[parameter.number - 1])
            result += text[copied..<parameter.range.lowerBound]
            result += StoredText.text(of: value, width: 60).utf8
            copied = parameter.range.upperBound
        }
        return String(decoding: result + text[copied...], as: UTF8.self)
    }
}

extension StatementRecord {
    /// The text with literals in place of the parameters; the text itself if a value is unknown, cut or a blob.
    var sqlWithLiterals: String {
        guard let values, cut != true else { return sql }
        let text = Array(sql.utf8)
        var result: [UInt8] = []
        var copied = 0
        for parameter in StatementParameter.all(in: text) {
            guard parameter.number <= values.count, let literal = values[parameter.number - 1].literal
            else {
                return sql
            }
            result += text[copied..<parameter.range.lowerBound]
            result += literal.utf8
            copied = parameter.range.upperBound
        }
        return String(decoding: result + text[copied...], as: UTF8.self)
    }
}

extension BoundValue {
    /// The value as a literal of SQL; nil for a blob, or if only the start of the value is known.
    fileprivate var literal: String? {
        guard bytes == nil else { return nil }
        return switch value {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): "'" + text.replacing("'", with: "''") + "'"
        case .blob: nil
        }
    }
}

extension StoredValue {
    /// Creates a value, of which only the start may be known.
    package init(_ bound: BoundValue) {
        switch bound.value {
        case .null: self.init(.null)
        case .integer(let number): self.init(.integer(number))
        case .real(let number): self.init(.real(number))
        case .text(let text): self.init(.text(Array(text.utf8)), byteCount: bound.bytes)
        case .blob(let bytes): self.init(.blob(bytes), byteCount: bound.bytes)
        }
    }
}
