internal import FailureArtifactsSystem
internal import Foundation

/// Actions for the orderly exit of the process.
package enum ProcessExit {
    private static let actions = Lock<[@Sendable () -> Void]>([])
    private static let isInstalled: Bool = {
        atexit {
            for action in ProcessExit.actions.withLock(\.self).reversed() { action() }
        } == 0
    }()

    /// Adds an action; later ones run first.
    package static func run(_ action: @escaping @Sendable () -> Void) {
        let process = getpid()
        actions.withLock { $0.append({ if getpid() == process { action() } }) }
        _ = isInstalled
    }
}
