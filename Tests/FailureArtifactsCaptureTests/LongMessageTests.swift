import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsCapture

/// Messages that are too long for a bundle's metadata.
@Suite struct LongMessageTests {
    @Test func aLongMessageKeepsItsStartAndItsEnd() {
        let limit = FailureEvent.maximumMessageBytes
        let fitting = String(repeating: "m", count: limit)
        #expect(FailureEvent.cut(fitting) == fitting)
        let cut = FailureEvent.cut("start" + String(repeating: "m", count: 20_000_000) + "end")
        #expect(cut.utf8.count <= limit && cut.utf8.count > limit - 100)
        #expect(cut.hasPrefix("startmmm") && cut.hasSuffix("mmmend"))
        #expect(cut.contains("\n[19934572 bytes are left out here]\n"))
    }

    @Test(arguments: 0..<4)
    func codePointsAreNotDivided(shift: Int) {
        let text = String(repeating: "x", count: shift) + String(repeating: "🍎", count: 30_000) + "y"
        let cut = FailureEvent.cut(text)
        #expect(!cut.unicodeScalars.contains("\u{fffd}"))
        #expect(cut.utf8.count <= FailureEvent.maximumMessageBytes)
    }

    @Test func manyLongMessagesMakeAReadableBundle() throws {
        let world = try SessionWorld()
        let test = world.start()
        // In JSON, each of these characters takes up six bytes.
        let message = String(repeating: "\u{1}", count: 100_000)
        for _ in 0..<60 { world.fail(test, message) }
        for _ in 0..<10_000 { world.fail(test, "m") }
        world.finish(test)
        let metadata = try world.bundle().metadata
        let warning = try #require(metadata.warnings.first { $0.is(.failuresLeftOut) })
        let leftOut = 10_060 - metadata.failures.count
        #expect(leftOut > 0 && warning.parameters["failures"] == .number(Int64(leftOut)))
        #expect(metadata.failures.first?.message.contains("34564 bytes are left out") == true)
    }
}
