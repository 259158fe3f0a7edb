package import FailureArtifactsBundle

/// Returns a sentence about the commit of a line; nil if it is unknown.
package typealias CommitOfLine = @Sendable (StatementRecord.Source) -> String?
