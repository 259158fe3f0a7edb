package import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// One line of the in-flight list; see ``InFlightList``.
///
/// A line consists of fields, separated by tabs. The first field is a letter that identifies the kind of record. In a
/// field, `\\`, `\t` and `\n` stand for a backslash, a tab and a newline.
package enum InFlightRecord: Equatable, Sendable {
    /// `P`: the process, as JSON.
    case process(BundleMetadata.Environment)
    /// `F`: the recorder's own file. A copy of the file, such as one from a downloaded zip, has another identity.
    case file(FileStatus.Identity)
    /// `R`: redaction rules for copies of the process's stores, as a line of JSON.
    case redactions(String)
    /// `I`: the files of the process's code, as a line of JSON; see ``LoadedImages/json``.
    case images(String)
    /// `T`: a test is in flight: it has opened or used its first store, or may use a shared one.
    ///
    /// It began after the statement with the last number.
    case began(TestID, BundleMetadata.Test, at: Timestamp, after: UInt64 = 0)
    /// `S`: a store was opened by a test, or can be used by any test (0). A store in memory has no path.
    case opened(path: String?, by: TestID)
    /// `U`: a test, or one of the tests in flight (0), used a store that an earlier test had opened.
    ///
    /// The opener is nil if unknown. A store in memory has no path.
    case used(path: String?, by: TestID, openedBy: BundleMetadata.Store.Opener?)
    /// `E`: the test has ended.
    case ended(TestID)

    // MARK: Writing

    /// The line, including its newline.
    package var line: String {
        // Fields are added one by one: in a debug build, an array of them takes five times as long.
        var line = Line()
        switch self {
        case .process(let environment):
            line.text = "P"
            // Strings and numbers can always be encoded.
            if let json = try? JSONEncoder().encode(environment) {
                line.add(String(decoding: json, as: UTF8.self))
            }
        case .file(let identity):
            line.text = "F"
            line.add(identity.device)
            line.add(identity.inode)
        case .redactions(let rules):
            line.text = "R"
            line.add(rules)
        case .images(let images):
            line.text = "I"
            line.add(images)
        case .began(let id, let test, let date, let order):
            line.text = "T"
            line.add(id)
            line.add(date.seconds.description)
            line.add(date.milliseconds.description)
            line.add(order)
            line.add(test.framework)
            line.add(test.suite)
            line.add(test.name)
            line.add(test.attempt.description)
            // The mark distinguishes an empty list of arguments from a test that isn't parameterized.
            if test.arguments != nil { line.add("(") }
            for argument in test.arguments ?? [] { line.add(argument) }
        case .opened(let path, let id):
            line.text = "S"
            line.add(id)
            if let path { line.add(path) }
        case .used(let path, let id, let opener):
            line.text = "U"
            line.add(id)
            line.add(opener?.suite ?? "")
            line.add(opener?.name ?? "")
            if let path { line.add(path) }
        case .ended(let id):
            line.text = "E"
            line.add(id)
        }
        return line.text + "\n"
    }

    private struct Line {
        var text = ""

        mutating func add(_ number: UInt64) {
            text += "\t"
            text += number.description
        }

        mutating func add(_ field: String) {
            text += "\t"
            text += InFlightRecord.isPlain(field) ? field : InFlightRecord.escaped(field)
        }
    }

    /// Returns true if a field has no character that is escaped.
    private static func isPlain(_ field: String) -> Bool {
        var field = field
        return field.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return true }
            // Few fields have one, and a loop is slow in a debug build.
            return memchr(start, 0x5C, bytes.count) == nil && memchr(start, 0x09, bytes.count) == nil
                && memchr(start, 0x0A, bytes.count) == nil
        }
    }

    private static func escaped(_ field: String) -> String {
        field.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\\": result += #"\\"#
            case "\t": result += #"\t"#
            case "\n": result += #"\n"#
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    // MARK: Reading

    /// Parses the records of a list, without unknown lines.
    package static func records(in bytes: [UInt8]) -> [InFlightRecord] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // Drop the bytes after the last newline.
        lines.removeLast()
        return lines.compactMap { InFlightRecord(fields: fields(of: $0)) }
    }

    private static func fields(of line: ArraySlice<UInt8>) -> [String] {
        line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map { field in
            var bytes: [UInt8] = []
            var isEscaped = false
            for byte in field {
                switch (isEscaped, byte) {
                case (false, UInt8(ascii: "\\")): isEscaped = true
                case (true, UInt8(ascii: "t")):
                    (isEscaped, bytes) = (false, bytes + [UInt8(ascii: "\t")])
                case (true, UInt8(ascii: "n")):
                    (isEscaped, bytes) = (false, bytes + [UInt8(ascii: "\n")])
                default:
                    isEscaped = false
                    bytes.append(byte)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private init?(fields: [String]) {
        switch (fields[0], fields.count) {
        case ("P", 2):
            let json = Data(fields[1].utf8)
            guard
                let environment = try? JSONDecoder().decode(BundleMetadata.Environment.self, from: json)
            else { return nil }
            self = .process(environment)
        case ("F", 3):
            guard let device = UInt64(fields[1]), let inode = UInt64(fields[2]) else { return nil }
            self = .file(FileStatus.Identity(device: device, inode: inode))
        case ("R", 2):
            self = .redactions(fields[1])
        case ("I", 2):
            self = .images(fields[1])
        case ("T", 9...):
            guard let id = TestID(fields[1]), let seconds = Int64(fields[2]),
                let milliseconds = Int32(fields[3]), let order = UInt64(fields[4]),
                let attempt = Int(fields[8])
            else { return nil }
            let test = BundleMetadata.Test(
                framework: fields[5], suite: fields[6], name: fields[7],
                arguments: fields.count > 9 ? Array(fields[10...]) : nil, attempt: attempt)
            let start = Timestamp(seconds: seconds, milliseconds: milliseconds)
            self = .began(id, test, at: start, after: order)
        case ("S", 2...3):
            guard let id = TestID(fields[1]) else { return nil }
            self = .opened(path: fields.count == 3 ? fields[2] : nil, by: id)
        case ("U", 4...5):
            guard let id = TestID(fields[1]) else { return nil }
            let isKnown = !fields[2].isEmpty || !fields[3].isEmpty
            self = .used(
                path: fields.count == 5 ? fields[4] : nil, by: id,
                openedBy: isKnown ? .init(suite: fields[2], name: fields[3]) : nil)
        case ("E", 2):
            guard let id = TestID(fields[1]) else { return nil }
            self = .ended(id)
        default:
            return nil
        }
    }
}
