/// A property list in Apple's binary format, which Core Data uses in its stores.
///
/// CoreFoundation's source describes the format (`CFBinaryPList.c`,
/// <https://github.com/swiftlang/swift-corelibs-foundation/blob/main/Sources/CoreFoundation/CFBinaryPList.c>). Stores
/// may be untrusted, so the reader limits its time and memory for any input.
enum PropertyList: Equatable {
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    /// A date, in seconds since 2001-01-01T00:00:00Z.
    case date(Double)
    case data([UInt8])
    case string(String)
    case array([PropertyList])
    case dictionary([String: PropertyList])
    /// A reference of an archive; see ``KeyedArchive``.
    case uid(Int)

    /// The maximum size, in bytes.
    static let maximumBytes = 1 << 20

    /// Parses a property list; nil if it is damaged, too large, or exceeds the limits on nesting and content.
    ///
    /// - Parameters:
    ///   - bytes: All bytes of the property list.
    ///   - maximumBytes: The maximum number of bytes.
    ///   - maximumObjects: The maximum number of objects. An object counts each time it is referenced.
    ///   - maximumContent: The maximum number of bytes of strings and data. They count each time they are referenced.
    init?(
        _ bytes: [UInt8], maximumBytes: Int = Self.maximumBytes, maximumObjects: Int = 20_000,
        maximumContent: Int = 2 << 20
    ) {
        guard bytes.count <= maximumBytes,
            var reader = Reader(
                bytes, maximumObjects: maximumObjects, maximumContent: maximumContent),
            let value = reader.value(reader.top, depth: 0)
        else { return nil }
        self = value
    }

    /// Returns the value of a dictionary's key.
    subscript(key: String) -> PropertyList? {
        if case .dictionary(let values) = self { return values[key] }
        return nil
    }

    private struct Reader {
        /// The maximum nesting depth.
        static let maximumDepth = 16

        let bytes: [UInt8]
        let offsetSize: Int
        let referenceSize: Int
        let count: Int
        let top: Int
        let offsets: Int
        var objectsLeft: Int
        var contentLeft: Int

        init?(_ bytes: [UInt8], maximumObjects: Int, maximumContent: Int) {
            (objectsLeft, contentLeft) = (maximumObjects, maximumContent)
            guard bytes.count >= 40, bytes.starts(with: "bplist00".utf8) else { return nil }
            self.bytes = bytes
            let trailer = bytes.count - 32
            offsetSize = Int(bytes[trailer + 6])
            referenceSize = Int(bytes[trailer + 7])
            func number(_ offset: Int) -> Int? {
                Int(exactly: bytes[offset..<offset + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
            }
            guard let count = number(trailer + 8), let top = number(trailer + 16),
                let offsets = number(trailer + 24), 1...8 ~= offsetSize, 1...8 ~= referenceSize,
                count <= bytes.count, top < count, 8...trailer ~= offsets,
                count * offsetSize <= trailer - offsets
            else { return nil }
            (self.count, self.top, self.offsets) = (count, top, offsets)
        }

        /// Reads a number of up to eight bytes; nil if it is truncated or too large for an offset.
        func number(at offset: Int, size: Int) -> Int? {
            guard offset >= 0, size <= 8, offset <= bytes.count - size else { return nil }
            return Int(
                exactly: bytes[offset..<offset + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }

        mutating func value(_ index: Int, depth: Int) -> PropertyList? {
            objectsLeft -= 1
            guard depth < Self.maximumDepth, objectsLeft >= 0, 0..<count ~= index,
                let start = number(at: offsets + index * offsetSize, size: offsetSize),
                8..<offsets ~= start
            else { return nil }
            let (kind, low) = (bytes[start] >> 4, Int(bytes[start] & 15))
            switch kind {
            case 0x0: return low == 8 ? .boolean(false) : low == 9 ? .boolean(true) : nil
            case 0x1:
                guard low <= 3, let bits = self.bits(at: start + 1, size: 1 << low) else { return nil }
                // Only eight-byte integers are signed.
                return .integer(Int64(bitPattern: bits))
            case 0x2, 0x3:
                guard let bits = self.bits(at: start + 1, size: 1 << low) else { return nil }
                let number =
                    low == 3
                    ? Double(bitPattern: bits)
                    : low == 2 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : nil
                return number.map { kind == 2 ? .real($0) : .date($0) }
            case 0x4: return content(start, low, width: 1).map { .data(Array($0)) }
            case 0x5:
                return content(start, low, width: 1).map { .string(String(decoding: $0, as: UTF8.self)) }
            case 0x6:
                return content(start, low, width: 2).map { bytes in
                    let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2)
                        .map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
                    return .string(String(decoding: units, as: UTF16.self))
                }
            case 0x8:
                return bits(at: start + 1, size: low + 1).flatMap { Int(exactly: $0) }.map { .uid($0) }
            case 0xA:
                guard let (length, first) = length(start, low) else { return nil }
                var values: [PropertyList] = []
                for position in 0..<length {
                    guard let value = element(first, position, depth) else { return nil }
                    values.append(value)
                }
                return .array(values)
            case 0xD:
                guard let (length, first) = length(start, low) else { return nil }
                var values: [String: PropertyList] = [:]
                for position in 0..<length {
                    guard case .string(let key)? = element(first, position, depth),
                        let value = element(first, length + position, depth)
                    else { return nil }
                    values[key] = value
                }
                return .dictionary(values)
            default: return nil
            }
        }

        /// Reads the object that a container refers to.
        private mutating func element(
            _ first: Int, _ position: Int, _ depth: Int
        ) -> PropertyList? {
            guard let index = number(at: first + position * referenceSize, size: referenceSize)
            else { return nil }
            return value(index, depth: depth + 1)
        }

        private func bits(at offset: Int, size: Int) -> UInt64? {
            guard size <= 8, offset <= offsets - size else { return nil }
            return bytes[offset..<offset + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }

        /// Reads the number of an object's elements and the offset of the first one.
        private func length(_ start: Int, _ low: Int) -> (length: Int, first: Int)? {
            guard low == 15 else { return (low, start + 1) }
            guard let marker = bits(at: start + 1, size: 1), marker >> 4 == 1, marker & 15 <= 3,
                let length = number(at: start + 2, size: 1 << Int(marker & 15)), length <= bytes.count
            else { return nil }
            return (length, start + 2 + (1 << Int(marker & 15)))
        }

        private mutating func content(_ start: Int, _ low: Int, width: Int) -> ArraySlice<UInt8>? {
            guard let (length, first) = length(start, low), length * width <= contentLeft,
                first <= offsets - length * width
            else { return nil }
            contentLeft -= length * width
            return bytes[first..<first + length * width]
        }
    }
}
