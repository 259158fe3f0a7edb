/// Where the host of a CI shows a line of a source file, at the commit that was tested.
enum SourceLink {
    /// The address of a failure's line.
    ///
    /// - Parameters:
    ///   - file: The path as the test framework gives it.
    ///   - line: Counts from 1.
    ///   - variables: Those that identify the run.
    /// - Returns: Nil where the host, the commit or the path in the repository is not known.
    static func url(file: String, line: Int?, variables: [String: String]) -> String? {
        guard let place = place(variables), let path = relative(file, to: place.name) else { return nil }
        let encoded = path.split(separator: "/", omittingEmptySubsequences: false)
            .map { percentEncoded(String($0)) }.joined(separator: "/")
        return place.base + encoded + (line.map { place.anchor + String($0) } ?? "")
    }

    private struct Place {
        /// What precedes the path.
        let base: String
        let anchor: String
        /// The repository's own name, which its checkout mostly has.
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
            return place(origin, "/src/", commit, anchor: "#lines-")
        }
        return nil
    }

    private static func before(_ marker: String, in text: String) -> String? {
        text.firstRange(of: marker).map { String(text[..<$0.lowerBound]) }
    }

    private static func place(
        _ repository: String, _ kind: String, _ commit: String, anchor: String
    ) -> Place? {
        guard repository.hasPrefix("https://") || repository.hasPrefix("http://"),
            repository.utf8.allSatisfy(isOfURL), (7...64).contains(commit.utf8.count),
            commit.utf8.allSatisfy(isHexadecimal),
            let name = repository.split(separator: "/").last
        else { return nil }
        return Place(base: repository + kind + commit + "/", anchor: anchor, name: String(name))
    }

    /// The path below the checkout.
    private static func relative(_ file: String, to name: String) -> String? {
        var path = file[...]
        if file.hasPrefix("/") {
            // GitHub's runners check `name` out into `…/name/name`.
            guard
                let folder = file.firstRange(of: "/\(name)/\(name)/") ?? file.firstRange(of: "/\(name)/")
            else { return nil }
            path = file[folder.upperBound...]
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else { return nil }
        return String(path)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    /// Letters, digits, and what else a repository's address has.
    private static func isOfURL(_ byte: UInt8) -> Bool { isUnreserved(byte) || "/:".utf8.contains(byte) }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }

    /// A part of a path (RFC 3986, section 2.1).
    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            isUnreserved(byte)
                ? String(UnicodeScalar(byte)) : "%" + ValueText.hexadecimal(CollectionOfOne(byte))
        }.joined()
    }
}
