import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

extension ProcessWideTests {
    /// The table of open connections.
    @Suite struct RegistryTests {
        init() { ConnectionRegistry.shared.install() }

        /// There are more connections than the table has chains, many to the same stores, opened and closed in any
        /// order.
        @Test func whatIsOpenIsKnownWhateverTheOrder() throws {
            ConnectionRegistry.shared.beginKeeping(maximumBytes: 1 << 20)
            defer { ConnectionRegistry.shared.endKeeping() }
            let seed: UInt64 = 20_261_121
            var dice = SplitMix(seed: seed)
            try withTemporaryDirectory { directory in
                var open: [(application: ApplicationHandle, path: String?)] = []
                for step in 0..<3000 {
                    // At first their number grows, then it shrinks.
                    if open.isEmpty || Int.random(in: 0..<3000, using: &dice) > step {
                        let number = Int.random(in: 0..<240, using: &dice)
                        let path = number < 60 ? "\(directory)/\(number).sqlite" : nil
                        open.append((try ApplicationHandle(path ?? ":memory:"), path))
                        // Creates the file, by which stores are told apart.
                        if path != nil { try open.last?.application.run("PRAGMA user_version = 1") }
                    } else {
                        let closed = open.remove(at: Int.random(in: 0..<open.count, using: &dice))
                        let before = ConnectionRegistry.shared.now
                        let isLast = closed.path != nil && !open.contains { $0.path == closed.path }
                        closed.application.close()
                        guard isLast || step % 20 == 0, let path = closed.path else { continue }
                        let stores = ConnectionRegistry.shared.storesClosed(after: before)
                        #expect(
                            stores.contains { $0.path == path } == isLast, "seed \(seed), step \(step)")
                    }
                    if step % 100 == 0 { expectKnown(open, "seed \(seed), step \(step)") }
                }
                expectKnown(open, "seed \(seed)")
            }
        }

        private func expectKnown(
            _ open: [(application: ApplicationHandle, path: String?)], _ comment: Comment
        ) {
            let all = ConnectionRegistry.shared.openConnections
            #expect(all.map(\.serial) == all.map(\.serial).sorted(), comment)
            // Other tests may have connections too.
            let known = all.filter { connection in
                open.contains { $0.application.handle == connection.handle }
            }
            #expect(known.map(\.handle) == open.compactMap(\.application.handle), comment)
            #expect(known.map(\.path) == open.map(\.path), comment)
        }
    }
}
