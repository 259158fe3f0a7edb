internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// How far a command is, in the last line of a terminal; nothing where standard error is no terminal.
final class ProgressBar {
    /// Seconds between two looks of it: more often nobody can read.
    private static let interval = 0.1

    private let output: TextOutput
    private var shown = ""
    private var last: Instant?

    init(output: TextOutput) {
        self.output = output
    }

    /// Shows how much is done; called as often as one likes.
    ///
    /// - Parameters:
    ///   - task: What is done, such as `Reading`.
    ///   - done: Out of `total`.
    ///   - total: May grow meanwhile.
    func show(_ task: String, done: Int, total: Int) {
        guard let terminal = output.terminal, total > 0 else { return }
        if let last, last.elapsed < Self.interval { return }
        last = .now
        let line = Self.line(task, done: done, total: total, width: terminal.width)
        guard line != shown else { return }
        shown = line
        write("\r\u{1B}[K" + line)
    }

    /// Takes the bar away, so that something else can be written.
    func clear() {
        guard !shown.isEmpty else { return }
        shown = ""
        last = nil
        write("\r\u{1B}[K")
    }

    /// `Reading  [######        ] 412 of 1000`; not in the last column, where some terminals break the line.
    static func line(_ task: String, done: Int, total: Int, width: Int) -> String {
        let count = "\(min(done, total)) of \(total)"
        let room = min(40, width - 1 - task.count - count.count - 4)
        guard room >= 8 else { return TextWidth.shortened("\(task) \(count)", to: max(1, width - 1)) }
        let filled = room * min(done, total) / total
        return task + " [" + String(repeating: "#", count: filled)
            + String(repeating: " ", count: room - filled) + "] " + count
    }

    private func write(_ text: String) {
        try? output.write(text)
        try? output.flush()
    }
}
