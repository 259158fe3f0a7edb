internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// The changes of watched files as a tree.
struct FileText {
    /// The maximum number of watched directories.
    private static let maximumTrees = 20
    /// The maximum number of files of a directory.
    private static let maximumFiles = 20
    /// The maximum number of different lines of a file.
    private static let maximumLines = 6

    let output: TextOutput

    /// Returns a heading and a tree for each watched directory.
    ///
    /// Empty if nothing was watched.
    func lines(_ trees: [FileTree]) -> [String] {
        let shown = trees.prefix(Self.maximumTrees).map(lines)
        let rest = trees.count - shown.count
        let more = rest > 0 ? [[output.styled("\(rest) more watched directories", .dim)]] : []
        return Array((shown + more).joined(separator: [""]))
    }

    private func lines(_ tree: FileTree) -> [String] {
        let name = SafeText.line(tree.watched.name)
        var lines = [output.styled("Files in \(name)", .heading) + ", " + tree.summary]
        var folder = ""
        for file in tree.files.prefix(Self.maximumFiles) {
            if file.folder != folder {
                folder = file.folder
                if !folder.isEmpty { lines.append("  \(SafeText.line(folder))/") }
            }
            lines += self.lines(file, indent: folder.isEmpty ? "  " : "    ")
        }
        let rest = tree.count - min(tree.files.count, Self.maximumFiles)
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
        let shown = differences.lines.prefix(Self.maximumLines)
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
