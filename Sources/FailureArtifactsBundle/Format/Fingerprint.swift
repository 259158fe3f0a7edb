internal import FailureArtifactsSystem

/// A hash that recognises the same failure across retries, shards and runs.
///
/// It covers suite, name, outcome, the name of the source file and the first message. The parts of a message that
/// differ from run to run (numbers, hexadecimal numbers, UUIDs, paths) are replaced first. The hash is ``FNV1a``,
/// written as 16 hexadecimal digits.
package enum Fingerprint {
    /// Computes the fingerprint of a test's end.
    package static func make(
        test: BundleMetadata.Test, outcome: BundleMetadata.Outcome,
        first failure: BundleMetadata.Failure?
    ) -> String {
        // The directory of a source file differs between machines.
        let file = Path.name(of: failure?.file ?? "")
        let parts = [
            test.suite, test.name, outcome.rawValue, file, normalize(failure?.message ?? ""),
        ]
        var hash = FNV1a()
        hash.add(parts.joined(separator: "\u{0}").utf8)
        let digits = String(hash.value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Replaces the parts of a message that differ from run to run.
    static func normalize(_ message: String) -> String {
        var result = ""
        var rest = Substring(message)
        while let character = rest.first {
            if character == "/", result.last.map({ !isWordCharacter($0) }) ?? true {
                // A path ends at whitespace, a quotation mark, a bracket, a comma or a semicolon.
                rest = rest.drop { !$0.isWhitespace && !"\"'`()<>,;".contains($0) }
                result += "<path>"
            } else if isWordCharacter(character) {
                let word = rest.prefix(while: isWordCharacter)
                rest = rest.dropFirst(word.count)
                result += normalizeWord(word)
            } else {
                result.append(character)
                rest.removeFirst()
            }
        }
        return result
    }

    private static func isWordCharacter(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == "-"
    }

    private static func normalizeWord(_ word: Substring) -> String {
        let groups = word.split(separator: "-", omittingEmptySubsequences: false)
        if groups.map(\.count) == [8, 4, 4, 4, 12], groups.allSatisfy({ $0.allSatisfy(\.isHexDigit) }) {
            return "<uuid>"
        }
        let isPrefixed =
            word.hasPrefix("0x") && word.count > 2 && word.dropFirst(2).allSatisfy(\.isHexDigit)
        let isLong = word.count >= 8 && word.allSatisfy(\.isHexDigit) && word.contains(where: \.isNumber)
        if isPrefixed || (isLong && !word.allSatisfy(\.isNumber)) { return "<hex>" }
        var result = ""
        var inNumber = false
        for character in word {
            if character.isNumber {
                if !inNumber { result += "<n>" }
                inNumber = true
            } else {
                result.append(character)
                inNumber = false
            }
        }
        return result
    }
}
