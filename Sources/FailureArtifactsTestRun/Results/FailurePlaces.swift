internal import FailureArtifactsSystem

/// The places of the failures that a test command prints.
package enum FailurePlaces {
    /// The maximum number of bytes that are read of an output.
    private static let limit = 8 << 20

    package static func places(inOutput path: String) throws -> Set<String> {
        let bytes = try FileSystem.contents(ofFile: path).suffix(limit)
        return Set(bytes.split(separator: UInt8(ascii: "\n")).compactMap(place))
    }

    private static func place(in line: ArraySlice<UInt8>) -> String? {
        let line = String(decoding: line.prefix(4096), as: UTF8.self)
        // `/…/LedgerTests.swift:82: error: LedgerTests.testMarch : …` and `Ledger/Ledger.swift:42: Fatal error: …`
        for mark in [": error: ", ": Fatal error"] {
            if let range = line.firstRange(of: mark) { return place(atEndOf: line[..<range.lowerBound]) }
        }
        // `✘ Test march() recorded an issue at LedgerTests.swift:82:9: …`
        if let range = line.firstRange(of: " recorded an issue at ") {
            let rest = line[range.upperBound...]
            let parts = rest.prefix { $0 != " " }.split(separator: ":")
            return parts.count >= 2 ? place(atEndOf: "\(parts[0]):\(parts[1])") : nil
        }
        return nil
    }

    /// Returns the file's name and line, if the text ends with `FILE:LINE`.
    private static func place(atEndOf text: some StringProtocol) -> String? {
        guard let colon = text.lastIndex(of: ":"), Int(text[text.index(after: colon)...]) != nil,
            let file = text[..<colon].split(separator: "/").last, file.hasSuffix(".swift")
        else { return nil }
        return "\(file)\(text[colon...])"
    }
}
