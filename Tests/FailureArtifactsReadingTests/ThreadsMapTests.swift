import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@Suite struct ThreadsMapTests {
    @Test(arguments: [0, 1, 2, 7, 1_000]) func theOrderStays(count: Int) {
        let elements = Array(0..<count)
        #expect(Threads.map(elements) { String($0) } == elements.map { String($0) })
    }
}
