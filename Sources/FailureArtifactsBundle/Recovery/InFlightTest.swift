package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// A test that a process had not ended, according to its in-flight list.
package struct InFlightTest: Equatable, Sendable {
    package let process: ProcessIdentity
    package let id: TestID
    package let identity: BundleMetadata.Test
    package let start: Timestamp
    /// The number of the last statement before the start.
    let order: UInt64
    package let environment: BundleMetadata.Environment?
    /// The files of its process's code, as JSON; nil if not known.
    let images: String?
    /// The files that the test opened or used, and those that any test may have used, without duplicates.
    package fileprivate(set) var paths: [Path] = []
    /// True if the test opened or used stores in memory.
    package fileprivate(set) var hasMemoryStores = false
    /// True if no other test of its process was in flight.
    package fileprivate(set) var isAlone = true
    package fileprivate(set) var redactions = RedactionRules()

    /// The file of a store.
    package struct Path: Equatable, Sendable {
        package let path: String
        package let isShared: Bool
        /// The earlier test that opened it; nil if there was none.
        var openedBy: BundleMetadata.Store.Opener?
    }

    /// Parses the tests that a list contains.
    static func all(in list: [UInt8], of process: ProcessIdentity) -> [InFlightTest] {
        var environment: BundleMetadata.Environment?
        var images: String?
        var shared: [String] = []
        var tests: [InFlightTest] = []
        var redactions = RedactionRules()
        for record in InFlightRecord.records(in: list) {
            switch record {
            case .process(let described):
                environment = described
            case .file: continue
            case .redactions(let text):
                // If a newer version wrote rules that this one does not understand, the strictest rules apply.
                redactions.add(RedactionRules(json: Array(text.utf8)) ?? .safest)
            case .images(let text):
                images = text
            case .began(let id, let identity, let start, let order):
                tests.append(
                    InFlightTest(
                        process: process, id: id, identity: identity, start: start, order: order,
                        environment: environment, images: images))
            case .opened(let path?, 0):
                shared.append(path)
            case .opened(let path, let id):
                guard let index = tests.firstIndex(where: { $0.id == id }) else { continue }
                tests[index].add(path.map { Path(path: $0, isShared: false) })
            case .used(let path, let id, let opener):
                // ID 0 stands for any of the tests in flight.
                for index in tests.indices where id == 0 || tests[index].id == id {
                    tests[index].add(path.map { Path(path: $0, isShared: true, openedBy: opener) })
                }
            case .ended(let id):
                tests.removeAll { $0.id == id }
            }
        }
        for index in tests.indices {
            tests[index].redactions = redactions
            tests[index].isAlone = tests.count == 1
            for path in shared { tests[index].add(Path(path: path, isShared: true)) }
        }
        return tests
    }

    /// Adds the file of a store; nil stands for a store in memory.
    private mutating func add(_ path: Path?) {
        guard let path else {
            hasMemoryStores = true
            return
        }
        if let index = paths.firstIndex(where: { $0.path == path.path }) {
            if !path.isShared { paths[index] = path }
        } else {
            paths.append(path)
        }
    }
}
