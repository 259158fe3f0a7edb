internal import FailureArtifactsSystem

/// Recognises one failure across retries, shards and runs.
///
/// It hashes suite, name, outcome, the file's name and the first message, in which what differs from run to
/// run (numbers, hexadecimal numbers, UUIDs, paths) is replaced. The hash is FNV-1a with 64 bits
/// (draft-eastlake-fnv), written as 16 hexadecimal digits: it tells a few hundred thousand failures apart
/// and defends against nobody.
package enum Fingerprint {
    /// The fingerprint of a test's end.
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
        hash.combine(parts.joined(separator: "\u{0}").utf8)
        let digits = String(hash.value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// A message without what differs from run to run.
    static func normalize(_ message: String) -> String {
        var result = ""
        var rest = Substring(message)
        while let character = rest.first {
            if character == "/", result.last.map({ !isWordCharacter($0) }) ?? true {
                // A path ends where a message would end it.
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
