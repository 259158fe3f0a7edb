internal import FailureArtifactsSystem
internal import Foundation

/// What is to be done when the process exits in an orderly way.
enum ProcessExit {
    private static let actions = Lock<[@Sendable () -> Void]>([])
    private static let isInstalled: Bool = {
        atexit {
            for action in ProcessExit.actions.withLock(\.self).reversed() { action() }
        } == 0
    }()

    /// - Parameter action: Called when this process exits; not when a child of it does that was made by `fork`.
    static func run(_ action: @escaping @Sendable () -> Void) {
        let process = getpid()
        actions.withLock { $0.append({ if getpid() == process { action() } }) }
        _ = isInstalled
    }
}
