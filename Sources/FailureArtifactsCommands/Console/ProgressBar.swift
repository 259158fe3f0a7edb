internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// A progress bar in the last line of a terminal.
///
/// It shows nothing if standard error is not a terminal.
final class ProgressBar {
    /// The minimum time between updates, in seconds.
    ///
    /// Faster updates would be unreadable.
    private static let interval = 0.1

    private let output: TextOutput
    private var shown = ""
    private var last: Instant?

    init(output: TextOutput) {
        self.output = output
    }

    /// Shows the progress.
    ///
    /// Frequent calls are cheap: most of them do nothing.
    func show(_ task: String, done: Int, total: Int) {
        guard let terminal = output.terminal, total > 0 else { return }
        if let last, last.elapsed < Self.interval { return }
        last = .now
        let line = Self.line(task, done: done, total: total, width: terminal.width)
        guard line != shown else { return }
        shown = line
        write("\r\u{1B}[K" + line)
    }

    /// Removes the bar, so that other text can be written.
    func clear() {
        guard !shown.isEmpty else { return }
        shown = ""
        last = nil
        write("\r\u{1B}[K")
    }

    /// Returns a line such as `Reading  [######        ] 412 of 1000`.
    ///
    /// The line leaves the last column free, because some terminals wrap there.
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
