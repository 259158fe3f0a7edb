package import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension Threads {
    /// The number of threads of this process that can run at once.
    package static var cores: Int { ProcessInfo.processInfo.activeProcessorCount }

    /// Transforms each element, using all available cores.
    package static func map<Element: Sendable, Result: Sendable>(
        _ elements: [Element], _ transform: @escaping @Sendable (Element) -> Result
    ) -> [Result] {
        let state = Lock(MapState<Result>(count: elements.count))
        let work: @Sendable () -> Void = {
            while let index = state.withLock({ $0.takeIndex() }) {
                let result = transform(elements[index])
                state.withLock { $0.results[index] = result }
            }
        }
        withWorkers(min(cores, elements.count) - 1, work) { _ in work() }
        return state.withLock { $0.results.compactMap(\.self) }
    }
}

/// The progress of a `map`, shared by its threads.
private struct MapState<Result: Sendable> {
    var results: [Result?]
    private var next = 0

    init(count: Int) {
        results = Array(repeating: nil, count: count)
    }

    mutating func takeIndex() -> Int? {
        guard next < results.count else { return nil }
        defer { next += 1 }
        return next
    }
}
