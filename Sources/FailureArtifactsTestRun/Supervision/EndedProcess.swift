package import FailureArtifactsSystem

/// A process whose end `run` has seen.
package struct EndedProcess: Equatable, Sendable {
    package let identity: ProcessIdentity
    package let status: ExitStatus
}
