internal import FailureArtifactsSystem

/// The executable or a library in the memory of a process.
package struct LoadedImage: Codable, Equatable, Sendable {
    /// The absolute path of the file.
    package var path: String
    /// The difference between the addresses in memory and in the file.
    package var base: UInt64
    /// The address of the first byte of the code.
    package var start: UInt64
    /// The address after the last byte of the code.
    package var end: UInt64
    /// The time at which the file was changed last, in nanoseconds since 1970; nil if it isn't known.
    package var modified: Int64?

    /// True for the libraries of Swift's toolchain whose functions keep frame pointers.
    var isOfToolchain: Bool {
        let name = Path.name(of: path)
        return ["libswift", "libFoundation", "lib_Foundation", "libXCTest", "libTesting", "lib_Testing"]
            .contains { name.hasPrefix($0) }
    }

    /// True if the file still has the content that the process loaded.
    var isUnchanged: Bool { modified != nil && FileSystem.regularFile(path)?.modified == modified }
}
