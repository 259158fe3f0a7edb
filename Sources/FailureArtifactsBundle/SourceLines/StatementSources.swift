internal import CFailureArtifactsShared
internal import FailureArtifactsSystem

/// Finds the lines of the package's own sources that ran statements.
struct StatementSources {
    private let images: LoadedImages
    /// True for each image that is one of the toolchain.
    private let ofToolchain: [Bool]
    /// The lines of the package's own sources, by the addresses after the calls.
    private let known: [UInt64: [StatementRecord.Source]]

    /// Finds the source lines of all stacks by one call of the symbolizer.
    ///
    /// The directory is an existing one for the symbolizer's files.
    init(
        of stacks: [[UInt64]], in images: LoadedImages, failureFile: String?, by symbolizer: Symbolizer,
        scratch directory: String
    ) {
        let ofToolchain = images.images.map(\.isOfToolchain)
        (self.images, self.ofToolchain) = (images, ofToolchain)
        // Without a package, no line counts.
        guard
            var package = PackageSources(
                ofFailureIn: failureFile, workingDirectory: images.workingDirectory)
        else {
            known = [:]
            return
        }
        let addresses = Set(stacks.flatMap { Self.reliablePart(of: $0, in: images, ofToolchain) })
        guard !addresses.isEmpty else {
            known = [:]
            return
        }
        known = symbolizer.frames(at: addresses, in: images, scratch: directory).mapValues { frames in
            frames.compactMap { frame in
                package.relativePath(of: frame.file).map {
                    StatementRecord.Source(file: $0, function: frame.function, line: frame.line)
                }
            }
        }
    }

    /// Returns the lines that were running when a statement ran, the innermost first; empty if they are unknown.
    ///
    /// If the package's C code ran it, the lines begin with the line of Swift that called the C code, if there is one.
    func lines(of stack: [UInt64]) -> [StatementRecord.Source] {
        var lines: [StatementRecord.Source] = []
        for address in Self.reliablePart(of: stack, in: images, ofToolchain) {
            for line in known[address] ?? [] where lines.last != line { lines.append(line) }
        }
        let swift = lines.firstIndex { $0.file.hasSuffix(".swift") } ?? 0
        return Array(lines[swift...].prefix(StatementRecord.maximumCallers + 1))
    }

    /// Returns the addresses outside of the toolchain up to the first one in another library.
    ///
    /// Functions of other libraries may use the frame pointer's register for something else, so the addresses beyond
    /// them may be wrong.
    private static func reliablePart(
        of stack: [UInt64], in images: LoadedImages, _ ofToolchain: [Bool]
    ) -> [UInt64] {
        var result: [UInt64] = []
        for address in stack {
            guard let index = images.indexOfImage(ofCallBefore: address) else { break }
            if !ofToolchain[index] { result.append(address) }
        }
        return result
    }
}
