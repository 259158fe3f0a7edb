internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// The bundle that was probably meant by a path at which there is nothing.
enum BundleSuggestion {
    /// Returns a sentence with the bundle, after a space; empty if no name in the directory is near.
    ///
    /// The path may have a part of the name, such as the suite or the test.
    static func sentence(for path: String) -> String {
        let directory = Path.directory(of: path)
        let names = ((try? FileSystem.contents(ofDirectory: directory)) ?? []).filter {
            $0.hasSuffix(".zip") && !$0.hasPrefix(".")
        }
        var parts: [String: String] = [:]
        for name in names.sorted(by: >) {
            let stem = name.dropLast(4)
            let test = stem.prefix(upTo: stem.lastIndex(of: "-") ?? stem.endIndex)
            let suite = test.prefix(upTo: test.lastIndex(of: ".") ?? test.endIndex)
            let method = test.dropFirst(suite.count).drop { $0 == "." }
            for part in [stem, test, suite, method, stem.suffix(8)] where !part.isEmpty {
                parts[String(part)] = name
            }
            parts[name] = name
        }
        let nearest = Spelling.nearest(to: Path.name(of: path), among: parts.keys.sorted())
        return nearest.flatMap { parts[$0] }.map {
            " The nearest name is '\(SafeText.line(Path.join(directory, $0)))'."
        } ?? ""
    }
}
