package import FailureArtifactsSystem

/// What `run` does for tests that leave no bundle themselves.
package struct Salvage: Sendable {
    /// Called when the time is up, while everything still runs, with the command's processes, parents first.
    package var beforeTimeoutKill: @Sendable ([ProcessIdentity]) -> Void
    /// Called when the command has ended; returns the paths of the bundles that it made.
    package var afterwards: @Sendable (RunReport) -> [String]

    package init(
        beforeTimeoutKill: @escaping @Sendable ([ProcessIdentity]) -> Void,
        afterwards: @escaping @Sendable (RunReport) -> [String]
    ) {
        self.beforeTimeoutKill = beforeTimeoutKill
        self.afterwards = afterwards
    }

    /// Does nothing.
    package static let none = Salvage(beforeTimeoutKill: { _ in }, afterwards: { _ in [] })
}
