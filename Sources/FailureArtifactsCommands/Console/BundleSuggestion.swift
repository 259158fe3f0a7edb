internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

extension Console {
    /// Returns the error that is reported for an error of any subsystem.
    ///
    /// For a path at which there is nothing, it says what creates the artifacts directory, or has the bundle that was
    /// probably meant.
    func failure(_ error: any Error) -> CommandError {
        let failure = CommandError(error)
        guard let error = error as? BundleError else { return failure }
        switch error.reason {
        case .notFound, .noMatch: break
        default: return failure
        }
        if error.path == artifactsPath {
            return CommandError(
                .noInput,
                "There is no directory '\(error.path)'. The first test that fails creates it, if its target has the "
                    + "product FailureArtifacts: run 'swift test', or 'failure-artifacts run -- swift test'. For other "
                    + "bundles, give their path.")
        }
        guard let bundle = BundleSuggestion.nearest(to: error.path) else { return failure }
        return CommandError(
            failure.exitCode,
            failure.description + " The nearest name is '\(SafeText.line(bundle))'.")
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
