import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

#if os(Linux)
extension ProcessWideTests {
    /// The descriptors that keep the files of closed stores.
    @Suite struct HeldFileTests {
        init() { ConnectionRegistry.shared.install() }

        private static func keeping(_ body: (String) throws -> Void) throws {
            ConnectionRegistry.shared.beginKeeping(maximumBytes: 16 << 20)
            defer { ConnectionRegistry.shared.endKeeping() }
            try withTemporaryDirectory(body)
        }

        /// Opens, fills and closes stores; returns the number of those that can't be used.
        private static func failures(of count: Int, in directory: String) throws -> Int {
            try (0..<count).count { number in
                let application = try ApplicationHandle("\(directory)/\(number).sqlite")
                defer { application.close() }
                return application.failure(
                    of: "PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1)") != nil
            }
        }

        /// Sets the process's soft limit on descriptors.
        private static func setLimit(_ count: rlim_t) throws {
            var limit = rlimit()
            try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            limit.rlim_cur = count
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        }

        @Test func withFewDescriptorsNoFileIsHeld() async {
            await #expect(processExitsWith: .success) {
                try HeldFileTests.expectNoHeldFiles(descriptors: 64)
            }
        }

        private static func expectNoHeldFiles(descriptors: rlim_t) throws {
            ConnectionRegistry.shared.install()
            try setLimit(descriptors)
            try keeping { directory in
                let failed = try failures(of: 200, in: directory)
                let held = try openFiles(below: directory)
                #expect(failed == 0 && held.isEmpty)
                let closed = ConnectionRegistry.shared.storesClosed(
                    after: .init(event: 0, statement: 0))
                #expect(closed.last?.path == directory + "/199.sqlite")
            }
        }

        /// One file of each store is held: the database.
        @Test func theFilesOfTheLastStoresAreHeldUpToALimit() async {
            await #expect(processExitsWith: .success) {
                try HeldFileTests.expectFilesOfTheLastStores(descriptors: 1024)
            }
        }

        private static func expectFilesOfTheLastStores(descriptors: rlim_t) throws {
            ConnectionRegistry.shared.install()
            try setLimit(descriptors)
            try keeping { directory in
                let failed = try failures(of: 64, in: directory)
                #expect(failed == 0)
                let held = try openFiles(below: directory).values
                #expect(held.sorted() == (35..<64).map { "\(directory)/\($0).sqlite" })
                let open = try (0..<310).map { number in
                    let application = try ApplicationHandle("\(directory)/open\(number).sqlite")
                    try application.run("PRAGMA journal_mode = wal; CREATE TABLE t(a)")
                    return application
                }
                let closed = ConnectionRegistry.shared.storesClosed(
                    after: .init(event: 0, statement: 0))
                #expect(closed.count == 64)
                withExtendedLifetime(open) {}
            }
        }

        /// Such a store is still found by its path.
        @Test func aStoreWhoseFilesWereGivenUpIsCopied() async {
            await #expect(processExitsWith: .success) {
                try HeldFileTests.expectCopyOfTheFirstStore()
            }
        }

        private static func expectCopyOfTheFirstStore() throws {
            ConnectionRegistry.shared.install()
            try setLimit(1024)
            try keeping { directory in
                let failed = try failures(of: 64, in: directory)
                #expect(failed == 0)
                let closed = ConnectionRegistry.shared.storesClosed(
                    after: .init(event: 0, statement: 0))
                let oldest = DiscoveredStore(try #require(closed.first))
                #expect(oldest.path == directory + "/0.sqlite")
                let storeCopy = capture(oldest, in: directory)
                #expect(storeCopy.method == .fileCopy)
                #expect(try copied(directory) == "1")
            }
        }

        /// The application closes the descriptors, and opens files of its own under the same numbers.
        @Test func aNumberThatIsTheApplicationsByNowIsNeitherClosedNorRead() throws {
            var mine: [CInt] = []
            defer { for number in mine { close(number) } }
            try Self.keeping { directory in
                let failed = try Self.failures(of: 1, in: directory)
                #expect(failed == 0)
                let path = directory + "/0.sqlite"
                let held = try openFiles(below: directory)
                #expect(held.values.sorted() == [path])
                let other = directory + "/mine"
                try FileSystem.write([1, 2, 3], toNewFile: other)
                for number in held.keys {
                    // Takes the place of the held file.
                    let own = open(other, O_RDWR | O_CLOEXEC)
                    try #require(own >= 0 && dup2(own, number) == number)
                    close(own)
                    mine.append(number)
                }
                try FileSystem.remove(path)
                let closed = ConnectionRegistry.shared.storesClosed(
                    after: .init(event: 0, statement: 0))
                let store = DiscoveredStore(try #require(closed.last { $0.path == path }))
                #expect(capture(store, in: directory).method == .described)
            }
            #expect(mine.count == 1)
            for number in mine { #expect(fcntl(number, F_GETFD) >= 0) }
        }
    }
}
#endif
