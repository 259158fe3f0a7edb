internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// The changes of watched files as a tree.
struct FileText {
    let output: TextOutput
    /// The maximum number of files of a directory.
    var maximumFiles = 20
    /// The maximum number of different lines of a file.
    var maximumLines = 6

    /// Returns a heading and a tree for each watched directory.
    ///
    /// - Parameters:
    ///   - watched: The watched directories.
    ///   - files: Their changed files.
    /// - Returns: Lines without line endings; empty if nothing was watched.
    func lines(_ watched: [BundleMetadata.WatchedFiles], _ files: [ChangedFile]) -> [String] {
        Array(watched.map { lines($0, files) }.joined(separator: [""]))
    }

    private func lines(_ watched: BundleMetadata.WatchedFiles, _ files: [ChangedFile]) -> [String] {
        let all = files.filter { $0.watched == watched.name }
        let count = all.count + (watched.omittedChanges ?? 0)
        let changes =
            count == 0
            ? "none of \(Counted.items(Int64(watched.count), "file")) changed"
            : Counted.items(Int64(count), "change")
        var lines = [
            output.styled("Files in \(SafeText.line(watched.name))", .heading) + ", " + changes
        ]
        var folder = ""
        for file in all.prefix(maximumFiles) {
            if file.folder != folder {
                folder = file.folder
                if !folder.isEmpty { lines.append("  \(SafeText.line(folder))/") }
            }
            lines += self.lines(file, indent: folder.isEmpty ? "  " : "    ")
        }
        let rest = count - min(all.count, maximumFiles)
        if rest > 0 {
            lines.append(output.styled("  and \(Counted.items(Int64(rest), "further change"))", .dim))
        }
        return lines
    }

    private func lines(_ file: ChangedFile, indent: String) -> [String] {
        let kind = TextWidth.padded(file.change.change.rawValue, to: 8)
        var lines = [
            indent + output.styled(kind, style(file.change.change)) + " " + SafeText.line(file.name)
                + output.styled("  \(SafeText.line(file.facts))", .dim)
        ]
        guard let differences = file.differences else { return lines }
        let shown = differences.lines.prefix(maximumLines)
        for line in shown {
            let text = "\(indent)  \(line.kind.sign) " + SafeText.line(line.text)
            lines.append(
                line.kind == .same
                    ? output.styled(text, .dim)
                    : output.styled(text, line.kind == .added ? .green : .red))
        }
        let rest = differences.lines.count - shown.count + differences.omittedLines
        if rest > 0 {
            lines.append(
                output.styled("\(indent)  … \(Counted.items(Int64(rest), "more line"))", .dim))
        }
        return lines
    }

    private func style(_ change: BundleMetadata.FileChange.Kind) -> TextOutput.Style {
        switch change {
        case .added: .green
        case .modified: .yellow
        case .deleted: .red
        }
    }
}
