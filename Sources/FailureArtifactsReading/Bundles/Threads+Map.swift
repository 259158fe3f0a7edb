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
            (next: 0, running: 0, results: [Result?](repeating: nil, count: elements.count)))
        let work: @Sendable () -> Void = {
            while true {
                let index = state.withLock { state in
                    defer { state.next += 1 }
                    return state.next
                }
                guard index < elements.count else { break }
                let result = transform(elements[index])
                state.withLock { $0.results[index] = result }
            }
            state.withLock { $0.running -= 1 }
        }
        let count = max(1, min(cores, elements.count))
        state.withLock { $0.running = count }
        // The system may refuse a thread.
        for _ in 1..<count where !detach(work) { state.withLock { $0.running -= 1 } }
        work()
        return state.wait { $0.running == 0 ? $0.results.compactMap(\.self) : nil }
    }
}
