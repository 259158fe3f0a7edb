/// The backtrace that Swift's runtime prints of the thread that crashed.
package struct CrashBacktrace {
    /// The lines with frames, innermost first.
    package let frames: [String]

    init(frames: [String]) { self.frames = frames }

    /// Finds the last such backtrace in the lines of a log; nil without one.
    package init?(in lines: [String]) {
        let start = lines.lastIndex { $0.hasPrefix("Thread ") && $0.hasSuffix(" crashed:") }
        guard let start else { return nil }
        frames = lines[(start + 1)...].prefix { line in
            !["Thread ", "Registers:", "Images"].contains { line.hasPrefix($0) }
        }.filter { !$0.isEmpty }
    }

    /// Returns the place of the innermost frame in a package's own sources.
    ///
    /// - Parameter root: The package root, absolute.
    /// - Returns: The file's absolute path and the line; nil if the frame or its line is unknown.
    package func place(below root: String) -> (file: String, line: Int)? {
        let mark = " at " + root + "/"
        for frame in frames {
            guard let start = frame.firstRange(of: mark) else { continue }
            let parts = frame[start.upperBound...].split(
                separator: ":", omittingEmptySubsequences: false)
            // Dependencies and generated sources are in a hidden directory.
            guard let path = parts.first, !path.hasPrefix("."), path.hasSuffix(".swift") else {
                continue
            }
            guard parts.count >= 2, let line = Int(parts[1]), line > 0 else { return nil }
            return (root + "/" + path, line)
        }
        return nil
    }
}
