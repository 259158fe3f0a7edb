import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

extension ProcessWideTests {
    /// Open databases that belong to no test.
    @Suite struct FrameworkStoreTests {
        /// Creates closed stores.
        private func create(_ paths: String...) throws {
            for path in paths {
                try FileSystem.createDirectory(Path.directory(of: path))
                let store = try ApplicationHandle(path)
                try store.run("CREATE TABLE t(a)")
                store.close()
            }
        }

        /// Opens a store's file without SQLite, as a copy of SQLite does that reports nothing.
        private func open(_ path: String) throws -> FileHandle {
            try #require(FileHandle(forReadingAtPath: path))
        }

        @Test func onlyTheTestsStoresAreCaptured() throws {
            try withTemporaryDirectory { directory in
                let directory = FileSystem.realPath(of: directory) ?? directory
                var configuration = CaptureConfiguration()
                configuration.mode = .firstFailure
                configuration.directory = URL(filePath: directory + "/artifacts")
                let session = CaptureSession(
                    configuration: configuration,
                    frameworkStores: FrameworkStores(areas: [directory + "/app"]))
                let cachePath = directory + "/app/Library/Caches/app/Cache.db"
                try create(
                    directory + "/elsewhere/early.sqlite", directory + "/elsewhere/registered.sqlite",
                    directory + "/elsewhere/adapter.sqlite", directory + "/app/app.sqlite",
                    directory + "/elsewhere/late.sqlite", cachePath)
                let early = try open(directory + "/elsewhere/early.sqlite")
                let registered = try open(directory + "/elsewhere/registered.sqlite")
                let known = try open(directory + "/elsewhere/adapter.sqlite")
                let ofApp = try open(directory + "/app/app.sqlite")
                session.addSource {
                    [LibraryStore(path: directory + "/elsewhere/adapter.sqlite")]
                }
                let test = session.testWillStart(
                    framework: "XCTest", suite: "S", name: "t", isAlone: false)
                test.state.withLock {
                    $0.registered.append((directory + "/elsewhere/registered.sqlite", nil))
                }
                let late = try open(directory + "/elsewhere/late.sqlite")
                let cache = try open(cachePath)
                session.testDidFail(
                    test, FailureEvent(message: "m", file: "T.swift", line: 1, kind: .assertion))
                withExtendedLifetime((early, registered, known, ofApp, late, cache)) {}
                session.testDidFinish(test)
                session.testsDidFinish()
                let metadata = try BundleReader(
                    BundleLocator.single(at: directory + "/artifacts"), scratchDirectory: directory
                ).metadata
                let own = metadata.stores.filter { $0.originalPath?.hasPrefix(directory) == true }
                #expect(Set(own.map(\.name)) == ["registered", "adapter", "app", "late"])
                #expect(
                    metadata.otherStores?.filter { $0.path.hasPrefix(directory) } == [
                        .init(
                            path: cachePath,
                            reason: "It is the cache of URLSession."),
                        .init(
                            path: directory + "/elsewhere/early.sqlite",
                            reason:
                                "It was open before the first test, outside of the directories of the tests and their app."
                        ),
                    ])
            }
        }
    }
}
