package import FailureArtifactsSystem

/// One line of a process's journal, see ``InFlightJournal``.
///
/// A line is made of fields with tabs between them, the first a letter that says what it is. In a field `\\`,
/// `\t` and `\n` stand for a backslash, a tab and the end of a line. What follows a line with a dot alone is of the
/// past, and a line that lacks its end is one that the process has died over: neither counts.
package enum JournalRecord: Equatable, Sendable {
    /// `P`: the process, from the environment's fields to the variables that identify a run of CI.
    case process(BundleMetadata.Environment)
    /// `R`: rules that copies of the process's stores have to obey, as a line of JSON.
    case redactions(String)
    /// `T`: a test has opened its first store.
    case began(TestID, BundleMetadata.Test, at: Timestamp)
    /// `S`: a store was opened, by a test or (0) by nobody in particular. A store in memory has no path.
    case opened(path: String?, by: TestID)
    /// `U`: a store was used that an earlier test had opened: by a test or (0) by one of those in flight.
    ///
    /// Without an opener where that is not known; a store in memory has no path.
    case used(path: String?, by: TestID, openedBy: BundleMetadata.Store.Opener?)
    /// `E`: the test has ended.
    case ended(TestID)

    /// Counts the tests of a process, from 1.
    package typealias TestID = UInt64

    // MARK: Writing

    /// The line after which nothing counts.
    static let end = ".\n"

    /// The line, with its end.
    package var line: String {
        let lines = JournalLines()
        lines.add(self)
        return lines.bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    // MARK: Reading

    /// The records of a journal, without lines that are torn or mean nothing.
    package static func records(in bytes: [UInt8]) -> [JournalRecord] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // What follows the last end of a line.
        lines.removeLast()
        return lines.prefix { !end.utf8.dropLast().elementsEqual($0) }
            .compactMap { JournalRecord(fields: fields(of: $0)) }
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
        case ("P", 6...):
            guard let processID = Int(fields[5]) else { return nil }
            var environment = BundleMetadata.Environment(
                operatingSystem: fields[1], architecture: fields[2], swift: fields[3],
                sqlite: fields[4], processID: processID)
            if fields.count > 6 {
                var ci = BundleMetadata.ContinuousIntegration(service: fields[6], variables: [:])
                for index in stride(from: 7, to: fields.count - 1, by: 2) {
                    ci.variables[fields[index]] = fields[index + 1]
                }
                environment.ci = ci
            }
            self = .process(environment)
        case ("R", 2):
            self = .redactions(fields[1])
        case ("T", 8...):
            guard let id = TestID(fields[1]), let seconds = Int64(fields[2]),
                let milliseconds = Int32(fields[3]), let attempt = Int(fields[7])
            else { return nil }
            let test = BundleMetadata.Test(
                framework: fields[4], suite: fields[5], name: fields[6],
                arguments: fields.count > 8 ? Array(fields[9...]) : nil, attempt: attempt)
            self = .began(id, test, at: Timestamp(seconds: seconds, milliseconds: milliseconds))
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
