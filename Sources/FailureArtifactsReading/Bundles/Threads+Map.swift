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
        let state = Lock(
            (next: 0, results: [Result?](repeating: nil, count: elements.count)))
        let work: @Sendable () -> Void = {
            while true {
                let index = state.withLock { state in
                    defer { state.next += 1 }
                    return state.next
                }
                guard index < elements.count else { return }
                let result = transform(elements[index])
                state.withLock { $0.results[index] = result }
            }
        }
        withWorkers(min(cores, elements.count) - 1, work) { _ in work() }
        return state.withLock { $0.results.compactMap(\.self) }
    }
}
