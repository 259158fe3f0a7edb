internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

extension CommandError {
    /// Creates an error from an error of any subsystem, and adds the bundle that was probably meant by a path at which
    /// there is nothing.
    init(suggestingBundleFor error: any Error) {
        self.init(error)
        guard let error = error as? BundleError else { return }
        switch error.reason {
        case .notFound, .noMatch: break
        default: return
        }
        guard let bundle = BundleSuggestion.nearest(to: error.path) else { return }
        self.init(exitCode, description + " The nearest name is '\(SafeText.line(bundle))'.")
    }
}

/// The bundle that was probably meant by a path at which there is nothing.
enum BundleSuggestion {
    /// Returns the bundle's path; nil if no name in the directory is near.
    ///
    /// The path may have a part of the name, such as the suite or the test.
    static func nearest(to path: String) -> String? {
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
        }
        // All names end in .zip, so it says nothing about how near they are.
        let given = Path.name(of: path)
        let stem = given.hasSuffix(".zip") ? String(given.dropLast(4)) : given
        guard let part = Spelling.nearest(to: stem, among: parts.keys.sorted()), let name = parts[part]
        else { return nil }
        return path.contains("/") ? Path.join(directory, name) : name
    }
}
