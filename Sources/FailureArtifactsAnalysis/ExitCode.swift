/// The exit statuses of the tool; numbers from 64 on are those of `sysexits.h`.
package struct ExitCode: Equatable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let done = ExitCode(rawValue: 0)
    /// A check found a problem.
    package static let found = ExitCode(rawValue: 1)
    package static let usage = ExitCode(rawValue: 64)
    package static let badData = ExitCode(rawValue: 65)
    package static let noInput = ExitCode(rawValue: 66)
    package static let inputOutput = ExitCode(rawValue: 74)
}
