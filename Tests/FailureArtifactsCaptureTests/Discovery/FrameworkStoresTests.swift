@testable import FailureArtifactsBundle
@testable import FailureArtifactsCapture
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

/// The decision which stores are only named in a bundle.
@Suite struct FrameworkStoresTests {
    @Test(arguments: [
        ("/Users/me/Library/Caches/com.example.app/Cache.db", "It is the cache of URLSession."),
        (
            "/private/var/mobile/Containers/Data/Application/6F/Library/Caches/com.example.app/Cache.db",
            "It is the cache of URLSession."
        ),
        (
            "/Users/me/Library/HTTPStorages/xctest/httpstorages.sqlite",
            "It holds URLSession's data about servers."
        ),
        ("/Users/me/Library/Caches/com.apple.parsecd/a/b.db", "It is a cache of the system."),
        ("/x/Library/WebKit/WebsiteData/LocalStorage/a.localstorage", "It belongs to WebKit."),
        (
            "/x/Library/Application Support/Google/Measurement/google-app-measurement.sql",
            "It belongs to Google Analytics."
        ),
        ("/System/Library/Frameworks/A.framework/a.db", "It belongs to the system."),
        ("/private/var/db/analyticsd/events.sqlite", "It belongs to the system."),
        ("/home/me/.pki/nssdb/cert9.db", "It has the certificates and keys of the library NSS."),
        ("/etc/pki/nssdb/key4.db", "It has the certificates and keys of the library NSS."),
        ("/var/lib/rpm/rpmdb.sqlite", "It is the list of the packages that RPM has installed."),
    ])
    func databasesOfFrameworksAreOnlyNamed(path: String, expected: String) {
        #expect(FrameworkStores.reasonToLeaveOut(path) == expected)
    }

    /// Names that resemble those of a framework.
    @Test(arguments: [
        "/data/Cache.db", "/Users/me/Library/Caches/Cache.db",
        "/x/Library/Caches/app/cache.sqlite", "/x/Library/HTTPStorages/httpstorages.sqlite",
        "/x/Library/Application Support/com.apple.x/a.db", "/home/me/nssdb/cert9.db",
        "/home/me/System/Library/a.db", "/home/me/var/lib/rpm/rpmdb.sqlite", "/usr/src/app/test.sqlite",
        "/var/db/app.sqlite", "/home/me/.cache/app/a.db", "cert9.db", "/", "",
    ])
    func otherPathsAreCaptured(path: String) {
        #expect(FrameworkStores.reasonToLeaveOut(path) == nil)
    }

    @Test func theNamesAreListedOnceAndSorted() {
        var metadata = BundleMetadata(
            test: .init(framework: "XCTest", suite: "S", name: "t"), outcome: .failed, fingerprint: "",
            failures: [], stores: [], attachments: [],
            environment: RunEnvironment.describe(variables: [:]),
            capture: .init(at: .now, duration: 0, limitsHit: []), warnings: [])
        metadata.add([])
        #expect(metadata.otherStores == nil)
        metadata.add([.init(path: "/home/me/b", reason: "R."), .init(path: "/a", reason: "R.")])
        metadata.add([.init(path: "/home/me/b", reason: "R.")])
        metadata.packageRoot = "/home/me/app"
        metadata.shortenHomePaths(HomePaths(home: "/home/me"))
        #expect(metadata.packageRoot == "~/app")
        #expect(metadata.otherStores?.map(\.path) == ["/a", "~/b"])
    }
}

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
                let session = CaptureSession(configuration: configuration)
                let cachePath = directory + "/Library/Caches/app/Cache.db"
                let registeredPath = directory + "/Library/Caches/registered/Cache.db"
                let adapterPath = directory + "/Library/Caches/adapter/Cache.db"
                try create(directory + "/app.sqlite", registeredPath, adapterPath, cachePath)
                let registered = try open(registeredPath)
                let known = try open(adapterPath)
                let ofApp = try open(directory + "/app.sqlite")
                session.addSource { [AdapterStore(path: adapterPath)] }
                let test = session.testWillStart(
                    framework: "XCTest", suite: "S", name: "t", isAlone: false)
                test.state.withLock {
                    $0.registered.append((registeredPath, nil))
                }
                let cache = try open(cachePath)
                session.testDidFail(
                    test, FailureEvent(message: "m", file: "T.swift", line: 1, kind: .assertion))
                withExtendedLifetime((registered, known, ofApp, cache)) {}
                session.testDidFinish(test)
                session.testsDidFinish()
                let metadata = try BundleReader(
                    BundleLocator.single(at: directory + "/artifacts"), scratchDirectory: directory
                ).metadata
                let own = metadata.stores.filter { $0.originalPath?.hasPrefix(directory) == true }
                #expect(
                    Set(own.compactMap(\.originalPath)) == [
                        registeredPath, adapterPath, directory + "/app.sqlite",
                    ])
                #expect(
                    metadata.otherStores?.filter { $0.path.hasPrefix(directory) } == [
                        .init(path: cachePath, reason: "It is the cache of URLSession.")
                    ])
            }
        }
    }
}
