internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// Links to a line of a source file on the CI's code host, at the commit that was tested.
enum SourceLink {
    /// Returns the address of a failure's line; nil if the host, the commit or the path in the repository is not known.
    static func url(file: String, line: Int?, variables: [String: String]) -> String? {
        guard let place = place(variables), let path = relative(file, in: place) else {
            return nil
        }
        let encoded = URLText.path(path)
        guard let line else { return place.base + encoded }
        return place.base + encoded + place.anchor + String(line)
    }

    /// Returns the address of the line that ran a statement; nil if it is not known.
    static func url(of source: StatementRecord.Source, variables: [String: String]) -> String? {
        guard source.isInPackage else { return nil }
        return url(file: source.file, line: source.line, variables: variables)
    }

    private struct Place {
        let base: String
        let anchor: String
        /// The directory of the checkout, if it is the same in every run; nil if it has the repository's own name.
        let directory: String?
        let name: String
    }

    private static func place(_ variables: [String: String]) -> Place? {
        if let server = variables["GITHUB_SERVER_URL"], let name = variables["GITHUB_REPOSITORY"],
            let commit = variables["GITHUB_SHA"]
        {
            return place(server + "/" + name, "/blob/", commit, anchor: "#L")
        }
        if let commit = variables["CI_COMMIT_SHA"],
            let project = variables["CI_PROJECT_URL"]
                ?? variables["CI_JOB_URL"].flatMap({ before("/-/jobs/", in: $0) })
        {
            return place(project, "/-/blob/", commit, anchor: "#L")
        }
        if let origin = variables["BITBUCKET_GIT_HTTP_ORIGIN"],
            let commit = variables["BITBUCKET_COMMIT"]
        {
            // `BITBUCKET_CLONE_DIR`, which can't be changed.
            return place(
                origin, "/src/", commit, anchor: "#lines-",
                directory: "/opt/atlassian/pipelines/agent/build/")
        }
        return nil
    }

    private static func before(_ marker: String, in text: String) -> String? {
        text.firstRange(of: marker).map { String(text[..<$0.lowerBound]) }
    }

    private static func place(
        _ repository: String, _ kind: String, _ commit: String, anchor: String,
        directory: String? = nil
    ) -> Place? {
        guard repository.hasPrefix("https://") || repository.hasPrefix("http://"),
            repository.utf8.allSatisfy(isOfURL), (7...64).contains(commit.utf8.count),
            commit.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let name = repository.split(separator: "/").last
        else { return nil }
        return Place(
            base: repository + kind + commit + "/", anchor: anchor, directory: directory,
            name: String(name))
    }

    /// Returns the path below the checkout; nil if it is not known.
    private static func relative(_ file: String, in place: Place) -> String? {
        var path = file[...]
        if file.hasPrefix("/") {
            guard let below = below(place, file) else { return nil }
            path = below
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else { return nil }
        return String(path)
    }

    private static func below(_ place: Place, _ file: String) -> Substring? {
        if let directory = place.directory {
            return file.hasPrefix(directory) ? file.dropFirst(directory.count) : nil
        }
        // GitHub's runners check `name` out into `…/name/name`.
        let name = place.name
        let folder = file.firstRange(of: "/\(name)/\(name)/") ?? file.firstRange(of: "/\(name)/")
        return folder.map { file[$0.upperBound...] }
    }

    /// True for letters, digits, and the other characters of a repository's address.
    private static func isOfURL(_ byte: UInt8) -> Bool {
        URLText.isUnreserved(byte) || "/:%".utf8.contains(byte)
    }
}
