internal import FailureArtifactsBundle

/// A run of GitHub Actions.
struct GitHubRun: Equatable {
    /// The name of the host, in lower case.
    let host: String
    let owner: String
    let repository: String
    let number: String
    /// The number of an attempt; nil for all attempts.
    let attempt: String?

    /// True for an argument that is an address, not a path.
    static func isAddress(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start == "https://" || start.hasPrefix("http://")
    }

    /// Parses `https://HOST/OWNER/REPO/actions/runs/NUMBER`, which `/attempts/N`, `/job/N`, a query or a fragment may
    /// follow; nil for other text.
    ///
    /// Each part consists of characters that such names may have, so none is an option, or a path that leads elsewhere.
    init?(_ address: String) {
        var parts = address.prefix { $0 != "?" && $0 != "#" }
            .split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if parts.last == "" { parts.removeLast() }
        guard parts.count >= 8, parts.count.isMultiple(of: 2), parts[0].lowercased() == "https:",
            parts[1].isEmpty, parts[5...6] == ["actions", "runs"], Self.isName(parts[2], with: ".-"),
            Self.isName(parts[3], with: "-_"), parts[4].contains(where: { $0 != "." }),
            Self.isName("o" + parts[4], with: "._-"), Self.isNumber(parts[7])
        else { return nil }
        (host, owner, repository, number) = (parts[2].lowercased(), parts[3], parts[4], parts[7])
        var details: [String: String] = [:]
        for index in stride(from: 8, to: parts.count, by: 2) {
            guard ["attempts", "job", "artifacts"].contains(parts[index]),
                Self.isNumber(parts[index + 1])
            else { return nil }
            details[parts[index]] = parts[index + 1]
        }
        attempt = details["attempts"]
    }

    /// The name of the directory for what is downloaded; `+` is in none of the parts.
    var directoryName: String {
        ([host, owner.lowercased(), repository.lowercased(), number] + (attempt.map { [$0] } ?? []))
            .joined(separator: "+")
    }

    private static func isNumber(_ text: String) -> Bool {
        (1...20).contains(text.utf8.count) && text.utf8.allSatisfy { (48...57).contains($0) }
    }

    /// True for ASCII letters, digits and the given characters, of which none is the first.
    private static func isName(_ text: String, with others: String) -> Bool {
        func isAlphanumeric(_ character: Character) -> Bool {
            character.isASCII && (character.isLetter || character.isNumber)
        }
        return text.utf8.count <= 255 && text.first.map(isAlphanumeric) == true
            && text.allSatisfy { isAlphanumeric($0) || others.contains($0) }
    }

    // MARK: Artifacts

    /// The uploaded bundles of a job.
    struct Artifact {
        let id: String
        let name: String
        let isExpired: Bool

        /// The name of the directory for its content.
        var directoryName: String { SafeName.make(from: name, maximumBytes: 200) + "-" + id }
    }

    /// The start of the artifacts' names.
    static let prefix = "failure-artifacts"

    /// The arguments for `gh` to list the artifacts: a line for each.
    ///
    /// The page about all failures is not an archive, so `gh` could not download it.
    var listArguments: [String] {
        [
            "api", "--hostname", host, "--paginate",
            "repos/\(owner)/\(repository)/actions/runs/\(number)/artifacts?per_page=100", "--jq",
            ".artifacts[] | select(.name | startswith(\"\(Self.prefix)\") and (endswith(\".html\") | not))"
                + #" | "\(.id) \(.expired) \(.name)""#,
        ]
    }

    /// Returns the artifacts in the output of `gh`, of the attempt if there is one.
    ///
    /// Of several with one name, the first is returned, which is also the one that `gh` downloads.
    func artifacts(in output: String) -> [Artifact] {
        var names: Set<String> = []
        return output.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard fields.count == 3, Self.isNumber(fields[0]), fields[2].hasPrefix(Self.prefix),
                attempt.map({ fields[2].hasSuffix("-" + $0) }) ?? true, names.insert(fields[2]).inserted
            else { return nil }
            return Artifact(id: fields[0], name: fields[2], isExpired: fields[1] == "true")
        }
    }

    func downloadArguments(for artifact: Artifact, into directory: String) -> [String] {
        [
            "run", "download", number, "--repo", "\(host)/\(owner)/\(repository)", "--name",
            artifact.name,
            "--dir", directory,
        ]
    }
}
