/// What the tool's exit status says; the numbers from 64 on are those of `sysexits.h`.
package struct ExitCode: Equatable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The command did what it was asked to.
    package static let done = ExitCode(rawValue: 0)
    /// A check found something.
    package static let found = ExitCode(rawValue: 1)
    /// The command line makes no sense.
    package static let usage = ExitCode(rawValue: 64)
    /// A file is not what it should be.
    package static let badData = ExitCode(rawValue: 65)
    /// There is no such file.
    package static let noInput = ExitCode(rawValue: 66)
    /// Reading or writing failed.
    package static let inputOutput = ExitCode(rawValue: 74)
}
