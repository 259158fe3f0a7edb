package import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The facts about sources that the checkout in the working directory has.
package struct Checkout: Sendable {
    /// Returns a sentence about the last commit of a line; nil if it is unknown.
    let commit: @Sendable (StatementRecord.Source) -> String?
    /// Returns the only line of Swift with a text; nil without one, or with several.
    let line: @Sendable (String) -> StatementRecord.Source?

    package init(
        commit: @escaping @Sendable (StatementRecord.Source) -> String?,
        line: @escaping @Sendable (String) -> StatementRecord.Source?
    ) {
        (self.commit, self.line) = (commit, line)
    }

    /// The number of lines around a call in which its statement's text is expected.
    private static let margin = 20
    /// The numbers of characters with which a text is looked up.
    private static let length = 20...200

    /// Returns the place of a statement's text, if that isn't where the statement ran.
    func text(of statement: StatementRecord) -> StatementRecord.Source? {
        // The bundle may be of another package.
        guard let source = statement.source, source.isInPackage,
            FileSystem.regularFile(Path.join(Path.currentDirectory, source.file)) != nil
        else { return nil }
        let line = statement.sql.split(whereSeparator: \.isNewline).first ?? ""
        let text = line.prefix(Self.length.upperBound)
        guard text.count >= Self.length.lowerBound, let found = self.line(String(text)) else {
            return nil
        }
        let isNear = statement.frames.contains {
            $0.file == found.file && abs($0.line - found.line) <= Self.margin
        }
        return isNear ? nil : found
    }
}
