import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsBundle

@Suite struct InFlightRecordTests {
    private let records: [InFlightRecord] = [
        .process(
            BundleMetadata.Environment(
                operatingSystem: "Linux 6 (a\tb)", architecture: "x86_64", swift: "6.3",
                sqlite: "3.40.1",
                processID: 42, run: "1a.2b",
                ci: .init(service: "GitLab CI", variables: ["CI_JOB_ID": "1", "CI_COMMIT_SHA": ""]))),
        .file(FileStatus.Identity(device: .max, inode: 7)),
        .redactions("{\"tables\":[\"a\\tb\"]}"),
        .began(
            1,
            BundleMetadata.Test(
                framework: "Swift Testing", suite: "果物", name: "sum(of:)",
                arguments: ["\\n", "a\nb", ""],
                attempt: 3), at: Timestamp(seconds: 1_700_000_000, milliseconds: 7), after: .max),
        .images("[{\"path\":\"a\\tb\"}]"),
        .began(
            2, BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t"),
            at: Timestamp(seconds: 1)),
        .began(
            3, BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t", arguments: []),
            at: Timestamp(seconds: 1)),
        .opened(path: "/tmp/a \\ \t \n \u{1F34E}.sqlite", by: 1), .opened(path: nil, by: 2),
        .opened(path: "/tmp/shared", by: 0),
        .used(path: "/tmp/a\tb", by: 1, openedBy: .init(suite: "果物", name: "sum(of:)\n")),
        .used(path: nil, by: 0, openedBy: nil), .ended(1),
    ]

    @Test func whatIsWrittenIsRead() {
        #expect(InFlightRecord.records(in: Array(records.map(\.line).joined().utf8)) == records)
    }

    /// The process may have died after any byte.
    @Test func aTornLineDoesNotCount() {
        let lines = records.map { Array($0.line.utf8) }
        let all = lines.flatMap(\.self)
        for count in 0...all.count {
            var (whole, end) = (0, 0)
            while whole < lines.count, end + lines[whole].count <= count {
                end += lines[whole].count
                whole += 1
            }
            #expect(InFlightRecord.records(in: Array(all[..<count])) == Array(records[..<whole]))
        }
    }

    @Test func aTestInFlightHasItsStoresAndThoseOfNobody() {
        let process = ProcessIdentity(number: 42, start: 7)
        let tests = InFlightTest.all(in: Array(records.map(\.line).joined().utf8), of: process)
        #expect(tests.map(\.id) == [2, 3])
        // One of the tests in flight has used a store in memory.
        #expect(tests.first?.hasMemoryStores == true && tests.last?.hasMemoryStores == true)
        #expect(tests.allSatisfy { !$0.isAlone })
        let began = records.filter { if case .began = $0 { true } else { false } }.prefix(1)
        let alone = InFlightTest.all(in: Array(began.map(\.line).joined().utf8), of: process)
        #expect(alone.map(\.isAlone) == [true])
        #expect(tests.allSatisfy { $0.paths == [.init(path: "/tmp/shared", isShared: true)] })
        #expect(tests.allSatisfy { $0.environment?.processID == 42 && $0.process == process })
    }

    @Test func aTestInFlightHasWhatItUsedOfEarlierTests() {
        let test = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t")
        let opener = BundleMetadata.Store.Opener(suite: "S", name: "earlier")
        let records: [InFlightRecord] = [
            .began(4, test, at: .now), .began(5, test, at: .now),
            .used(path: "/left", by: 4, openedBy: opener), .used(path: "/left", by: 4, openedBy: opener),
            .used(path: "/some", by: 0, openedBy: nil), .opened(path: "/own", by: 5),
            .used(path: "/own", by: 5, openedBy: opener), .used(path: "/again", by: 5, openedBy: opener),
            .opened(path: "/again", by: 5), .began(6, test, at: .now),
        ]
        let tests = InFlightTest.all(
            in: Array(records.map(\.line).joined().utf8), of: ProcessIdentity(number: 42, start: 7))
        let some = InFlightTest.Path(path: "/some", isShared: true)
        #expect(
            tests.map(\.paths) == [
                [.init(path: "/left", isShared: true, openedBy: opener), some],
                [some, .init(path: "/own", isShared: false), .init(path: "/again", isShared: false)], [],
            ])
    }

    /// The use of a store by one of several tests is recorded again after another test begins.
    @Test func theListSaysOnceWhatOneOfSeveralTestsUses() throws {
        let path = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-list-")
        defer { try? FileSystem.remove(path) }
        let directory = ArtifactsDirectory(path: path)
        let list = InFlightList(in: OutputDirectory(path)) {
            RunEnvironment.describe(variables: [:])
        }
        let identity = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t")
        let opener = BundleMetadata.Store.Opener(suite: "S", name: "earlier")
        func test(_ id: UInt64) -> InFlightList.Test {
            .init(id: id, identity: identity, start: .now, order: 0)
        }
        func size() throws -> Int? {
            try directory.recorders.first.map { try RecorderFile(at: $0.path).inFlight.count }
        }
        list.storeUsed("/left", by: nil, openedBy: opener)
        #expect(directory.recorders.isEmpty)
        list.storeUsed("/left", by: test(1), openedBy: opener)
        list.storeUsed("/other", by: nil, openedBy: opener)
        let before = try size()
        list.storeUsed("/other", by: nil, openedBy: opener)
        #expect(try size() == before)
        list.storeOpened("/own", by: test(2))
        list.storeUsed("/other", by: nil, openedBy: opener)
        #expect(try #require(try size()) > #require(before))
        let paths = directory.recorders.flatMap(\.tests).map { $0.paths.map(\.path) }
        #expect(paths == [["/left", "/other"], ["/own", "/other"]])
        list.testEnded(1, leaving: [])
        list.testEnded(2, leaving: ["/unwatched"])
        list.testBegan(test(3))
        #expect(directory.recorders.flatMap(\.tests).map { $0.paths.map(\.path) } == [["/unwatched"]])
        list.close()
    }

    @Test func aCopyOfARecorderIsNotTheOriginal() throws {
        let path = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-list-")
        defer { try? FileSystem.remove(path) }
        let list = InFlightList(in: OutputDirectory(path)) {
            RunEnvironment.describe(variables: [:])
        }
        defer { list.close() }
        let identity = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t")
        list.storeOpened("/store", by: .init(id: 1, identity: identity, start: .now, order: 0))
        let original = try #require(ArtifactsDirectory(path: path).recorders.first)
        #expect(original.isOriginal && !original.isAbandoned)
        // Another test of the same process.
        list.testEnded(1, leaving: [])
        list.storeOpened("/other", by: .init(id: 2, identity: identity, start: .now, order: 0))
        #expect(original.isOriginal)
        let place = path + "/copy/.in-flight"
        try FileSystem.createDirectory(place)
        try FileSystem.copy(
            File(reading: original.path), toNewFile: Path.join(place, Path.name(of: original.path)))
        let copy = try #require(ArtifactsDirectory(path: path + "/copy").recorders.first)
        #expect(copy.tests.map(\.id) == [2])
        #expect(!copy.isOriginal)
    }

    /// SQLite reports an opened store while it holds its locks.
    @Test func imagesAreListedWhenATestBeginsAndNotWhenAStoreIsOpened() throws {
        let path = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-list-")
        defer { try? FileSystem.remove(path) }
        let list = InFlightList(in: OutputDirectory(path)) {
            RunEnvironment.describe(variables: [:])
        }
        defer { list.close() }
        let identity = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t")
        for id in UInt64(1)...3 {
            let test = InFlightList.Test(id: id, identity: identity, start: .now, order: 0)
            if id == 2 { list.testBegan(test) }
            list.storeOpened("/store", by: test)
            let tests = ArtifactsDirectory(path: path).recorders.flatMap(\.tests)
            #expect(tests.map(\.images) == [id == 1 ? nil : LoadedImages.currentJSON])
            list.testEnded(id, leaving: [])
        }
    }
}
