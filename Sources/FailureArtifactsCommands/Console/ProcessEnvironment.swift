#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The environment variables of this process.
package enum ProcessEnvironment {
    /// All of them, by name.
    package static var variables: [String: String] { ProcessInfo.processInfo.environment }
}
