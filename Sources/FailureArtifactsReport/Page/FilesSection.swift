internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// The changes of watched files as a tree, with their differences.
struct FilesSection {
    /// The maximum number of files of a directory.
    private static let maximumFiles = 100
    /// The maximum number of directories.
    private static let maximumDirectories = 20

    let trees: [FileTree]

    /// The section; empty if nothing was watched.
    var html: String {
        guard !trees.isEmpty else { return "" }
        // A short tree is open: the files were watched for such a failure.
        let count = trees.reduce(0) { $0 + $1.files.count }
        var text =
            "<details class=\"part files\"\(1...10 ~= count ? " open" : "")><summary><h3>Files</h3></summary>\n"
            + trees.prefix(Self.maximumDirectories).map(html).joined()
        if trees.count > Self.maximumDirectories {
            text += "<p class=\"cut\">\(trees.count - Self.maximumDirectories) more are not shown.</p>\n"
        }
        return text + "</details>\n"
    }

    private func html(_ tree: FileTree) -> String {
        var text =
            "<h4>\(HTMLText.line(tree.watched.name)) <span class=\"dim\">\(tree.summary)</span></h4>\n"
            + "<ul class=\"tree\">"
        var folder = ""
        for file in tree.files.prefix(Self.maximumFiles) {
            if file.folder != folder {
                if !folder.isEmpty { text += "</ul></li>" }
                folder = file.folder
                if !folder.isEmpty { text += "<li><code>\(HTMLText.line(folder))/</code><ul>" }
            }
            text += item(file)
        }
        if !folder.isEmpty { text += "</ul></li>" }
        text += "</ul>\n"
        let rest = tree.count - min(tree.files.count, Self.maximumFiles)
        if rest > 0 {
            text += "<p class=\"cut\">\(Counted.items(Int64(rest), "further change")) not shown.</p>\n"
        }
        return text
    }

    private func item(_ file: ChangedFile) -> String {
        let kind = file.change.change.rawValue
        var text =
            "<li><span class=\"change \(kind)\">\(kind)</span> <code>\(HTMLText.line(file.name))</code> "
            + "<span class=\"dim\">\(HTMLText.line(file.facts))</span>"
        guard let differences = file.differences else { return text + "</li>\n" }
        if !differences.lines.isEmpty {
            text +=
                "<pre class=\"sql diff\" tabindex=\"0\" role=\"group\" aria-label=\"Differences of "
                + "\(HTMLText.line(file.name))\">" + differences.lines.map(line).joined(separator: "\n")
                + "</pre>"
        }
        if differences.omittedLines > 0 {
            text +=
                "<p class=\"cut\">\(Counted.items(Int64(differences.omittedLines), "more different line")) "
                + "not shown.</p>"
        }
        return text + "</li>\n"
    }

    private func line(_ line: LineDifferences.Line) -> String {
        let text = "\(line.kind.sign) " + HTMLText.line(line.text)
        return switch line.kind {
        case .same: text
        case .removed: "<del>\(text)</del>"
        case .added: "<ins>\(text)</ins>"
        }
    }
}
