internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// Links to a line of a source file on the CI's code host, at the commit that was tested.
enum SourceLink {
    /// Returns the address of a failure's line.
    ///
    /// Nil if the host, the commit or the path in the repository is not known.
    static func url(file: String, line: Int?, variables: [String: String]) -> String? {
        guard let place = place(variables), let path = relative(file, in: place.checkout) else {
            return nil
        }
        let encoded = URLText.path(path)
        guard let line else { return place.base + encoded }
        return place.base + encoded + place.anchor + String(line)
            + (place.isRange ? "&lineEnd=\(line &+ 1)&lineStartColumn=1&lineEndColumn=1" : "")
    }

    /// Returns the address of the line that ran a statement; nil if it is not known.
    static func url(of source: StatementRecord.Source, variables: [String: String]) -> String? {
        guard source.isInPackage else { return nil }
        return url(file: source.file, line: source.line, variables: variables)
    }

    private struct Place {
        /// The part of the address before the path.
        let base: String
        let anchor: String
        /// True if a line must be marked as a range of text, from its start to the start of the next line.
        var isRange = false
        let checkout: Checkout
    }

    /// The directory in which a CI has checked out the repository.
    private enum Checkout {
        /// A directory that usually has the repository's own name.
        case named(String)
        /// A directory that is the same in every run.
        case directory(String)
        /// `1/s`, where the number is the pipeline's
        /// (<https://learn.microsoft.com/azure/devops/pipelines/build/variables>, `Build.SourcesDirectory`).
        case azure
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
            let directory = "/opt/atlassian/pipelines/agent/build/"
            return place(
                origin, "/src/", commit, anchor: "#lines-", checkout: .directory(directory))
        }
        if let repository = variables["BUILD_REPOSITORY_URI"],
            let commit = variables["BUILD_SOURCEVERSION"]
        {
            return azure(withoutUser(repository), commit)
        }
        return nil
    }

    /// Returns the place for an Azure pipeline, whose repository may be on Azure or on GitHub.
    private static func azure(_ repository: String, _ commit: String) -> Place? {
        if repository.hasPrefix("https://github.com/") {
            let name = repository.hasSuffix(".git") ? String(repository.dropLast(4)) : repository
            return place(name, "/blob/", commit, anchor: "#L", checkout: .azure)
        }
        guard repository.contains("/_git/"),
            let place = place(repository, "", commit, anchor: "&line=", checkout: .azure)
        else { return nil }
        return Place(
            base: repository + "?version=GC" + commit + "&path=/", anchor: place.anchor, isRange: true,
            checkout: .azure)
    }

    /// Returns `https://host/…` for `https://user@host/…`.
    private static func withoutUser(_ address: String) -> String {
        guard let start = address.firstRange(of: "://")?.upperBound,
            let at = address[start...].prefix(while: { $0 != "/" }).lastIndex(of: "@")
        else { return address }
        return String(address[..<start] + address[address.index(after: at)...])
    }

    private static func before(_ marker: String, in text: String) -> String? {
        text.firstRange(of: marker).map { String(text[..<$0.lowerBound]) }
    }

    private static func place(
        _ repository: String, _ kind: String, _ commit: String, anchor: String,
        checkout: Checkout? = nil
    ) -> Place? {
        guard repository.hasPrefix("https://") || repository.hasPrefix("http://"),
            repository.utf8.allSatisfy(isOfURL), (7...64).contains(commit.utf8.count),
            commit.utf8.allSatisfy(isHexadecimal),
            let name = repository.split(separator: "/").last
        else { return nil }
        return Place(
            base: repository + kind + commit + "/", anchor: anchor,
            checkout: checkout ?? .named(String(name)))
    }

    /// Returns the path below the checkout; nil if it is not known.
    private static func relative(_ file: String, in checkout: Checkout) -> String? {
        var path = file[...]
        if file.hasPrefix("/") {
            guard let below = below(checkout, file) else { return nil }
            path = below
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else { return nil }
        return String(path)
    }

    private static func below(_ checkout: Checkout, _ file: String) -> Substring? {
        switch checkout {
        case .named(let name):
            // GitHub's runners check `name` out into `…/name/name`.
            let folder = file.firstRange(of: "/\(name)/\(name)/") ?? file.firstRange(of: "/\(name)/")
            return folder.map { file[$0.upperBound...] }
        case .directory(let directory):
            return file.hasPrefix(directory) ? file.dropFirst(directory.count) : nil
        case .azure:
            var start = file.startIndex
            while let folder = file[start...].firstRange(of: "/s/") {
                let number = file[..<folder.lowerBound].reversed().prefix { $0 != "/" }
                if !number.isEmpty, number.allSatisfy({ $0.isASCII && $0.isNumber }) {
                    return file[folder.upperBound...]
                }
                start = file.index(after: folder.lowerBound)
            }
            return nil
        }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    /// True for letters, digits, and the other characters of a repository's address.
    private static func isOfURL(_ byte: UInt8) -> Bool {
        URLText.isUnreserved(byte) || "/:%".utf8.contains(byte)
    }
}
