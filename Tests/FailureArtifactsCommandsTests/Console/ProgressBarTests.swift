import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsCommands

@Suite("Progress") struct ProgressBarTests {
    @Test func `A bar is seen on a terminal, and then gone`() {
        let memory = Memory()
        let bar = ProgressBar(output: memory.output(terminal: Terminal(width: 60, hasColour: false)))
        bar.show("Merging", done: 5, total: 10)
        // This update is within the minimum interval, so it isn't shown.
        bar.show("Merging", done: 6, total: 10)
        #expect(memory.text == "\r\u{1B}[KMerging [" + bars(filled: 20, of: 40) + "] 5 of 10")
        bar.clear()
        bar.clear()
        #expect(memory.text.hasSuffix("5 of 10\r\u{1B}[K"))
    }

    private func bars(filled: Int, of width: Int) -> String {
        String(repeating: "#", count: filled) + String(repeating: " ", count: width - filled)
    }

    @Test func `Nothing is seen where there is no terminal`() {
        let memory = Memory()
        let bar = ProgressBar(output: memory.output())
        bar.show("Merging", done: 5, total: 10)
        bar.clear()
        #expect(memory.text.isEmpty)
    }

    @Test func `What is said takes its place`() throws {
        let memory = Memory()
        let console = Console(
            output: Memory().output(),
            error: memory.output(terminal: Terminal(width: 40, hasColour: false)), environment: [:])
        console.progress.show("Reading", done: 1, total: 2)
        try console.warn("Something.")
        #expect(memory.text.hasSuffix("1 of 2\r\u{1B}[Kwarning: Something.\n"))
    }

    @Test(arguments: [1, 10, 20, 30, 80, 300])
    func `It keeps to the terminal`(width: Int) {
        for done in [0, 1, 999, 1000, 1001] {
            let line = ProgressBar.line("Reading", done: done, total: 1000, width: width)
            #expect(line.count <= max(1, width - 1))
        }
    }
}
