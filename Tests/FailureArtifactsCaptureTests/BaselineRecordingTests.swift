import CFailureArtifactsSQLite
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import FailureArtifactsTestSupport
import Foundation
import Testing

@testable import FailureArtifactsBundle
@testable import FailureArtifactsCapture

/// The recording of passing tests.
///
/// The log's options and the running test exist once per process.
@Suite(.inOwnProcess, .serialized) final class BaselineRecordingTests {
    private let directory: String
    private let session: CaptureSession
    private var baselines: String { directory + "/baselines" }

    init() throws {
        directory = try FileSystem.createUniqueDirectory(
            in: FileManager.default.temporaryDirectory.path, prefix: "baseline tests ")
        session = CaptureSession(configuration: Self.configuration(in: directory))
    }

    deinit {
        session.configure(CaptureConfiguration(base: ()))
        try? FileSystem.remove(directory)
    }

    private static func configuration(in directory: String) -> CaptureConfiguration {
        var configuration = CaptureConfiguration(base: ())
        configuration.directory = URL(filePath: directory + "/artifacts")
        configuration.baseline = .directory(URL(filePath: directory + "/baselines"))
        return configuration
    }

    private func start(_ name: String, _ arguments: [String]?) -> RunningTest {
        session.testWillStart(
            framework: "XCTest", suite: "Suite", name: name, arguments: arguments, isAlone: true)
    }

    /// Runs a test.
    private func test(
        _ name: String = "test", _ arguments: [String]? = nil, passes: Bool = true, fails: Bool = false,
        _ body: () throws -> Void
    ) rethrows {
        let test = start(name, arguments)
        try body()
        if fails {
            session.testDidFail(
                test, FailureEvent(message: "m", file: "T.swift", line: 1, kind: .assertion))
        }
        if passes { session.testDidPass(test) }
        session.testDidFinish(test)
        session.testsDidFinish()
        session.state.withLock { $0.passing }?.write()
    }

    /// Runs SQL on a new store in memory.
    private func run(_ sql: String...) throws {
        let handle = try ApplicationHandle(":memory:")
        for sql in sql { try handle.run(sql) }
    }

    /// Inserts a value that is bound.
    private func insert(_ text: String, with handle: ApplicationHandle) throws {
        var statement: OpaquePointer?
        try #require(
            sqlite3_prepare_v2(handle.handle, "INSERT INTO t VALUES (?)", -1, &statement, nil)
                == SQLITE_OK)
        defer { sqlite3_finalize(statement) }
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        sqlite3_bind_text(statement, 1, text, -1, transient)
        try #require(sqlite3_step(statement) == SQLITE_DONE)
    }

    private func versions(_ name: String = "test", _ arguments: [String]? = nil) -> [Baseline] {
        let identity = BundleMetadata.Test(
            framework: "XCTest", suite: "Suite", name: name, arguments: arguments, attempt: 1)
        return BaselineDirectory(baselines).baselines(of: identity, in: .current)
    }

    private var files: [String] {
        ((try? FileSystem.contents(ofDirectory: baselines)) ?? []).filter { $0.hasSuffix(".baseline") }
    }

    @Test func aPassingTestLeavesItsStatements() throws {
        let shared = try ApplicationHandle(":memory:")
        try shared.run("CREATE TABLE before(a)")
        try test {
            let file = try ApplicationHandle(directory + "/file.sqlite")
            try file.run("CREATE TABLE t(a UNIQUE)")
            try shared.run("INSERT INTO before VALUES (1), (2)")
            try insert("apple", with: file)
            _ = file.failure(of: "INSERT INTO t VALUES ('apple')")
            try shared.run("UPDATE before SET a = 3")
        }
        let version = try #require(versions().first)
        #expect(versions().count == 1)
        let statements = version.statements
        #expect(
            statements.map(\.sql) == [
                "CREATE TABLE t(a UNIQUE)", "INSERT INTO before VALUES (1), (2)",
                "INSERT INTO t VALUES (?)", "INSERT INTO t VALUES ('apple')", "UPDATE before SET a = 3",
            ])
        #expect(statements.map(\.order) == [1, 2, 3, 4, 5])
        #expect(statements.map(\.connection) == [1, 2, 1, 1, 2])
        #expect(statements.map(\.changes) == [0, 2, 1, 0, 2])
        #expect(statements[2].values?.map(\.value) == [.text("apple")])
        #expect(statements[3].error?.code == 2067)
        #expect(statements.allSatisfy { $0.at == version.at && $0.thread.isEmpty && $0.test == nil })
        #expect(statements.allSatisfy { $0.stack == nil && $0.pages == nil && $0.duration == nil })
        #expect(try FileSystem.status(of: baselines)?.permissions == 0o700)
        let file = try #require(files.first)
        #expect(files.count == 1)
        #expect(try FileSystem.status(of: Path.join(baselines, file))?.permissions == 0o600)
    }

    @Test func equalRunsAreOneVersion() throws {
        for _ in 1...3 {
            // What other tests do meanwhile doesn't matter.
            try test("other") { try run("CREATE TABLE o(a)", "INSERT INTO o VALUES (random())") }
            try test { try run("CREATE TABLE t(a)", "INSERT INTO t VALUES (1)") }
        }
        #expect(versions().count == 1)
        let path = try Path.join(baselines, #require(files.first))
        _ = utimes(path, [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)])
        let old = try FileSystem.contents(ofFile: path)
        try test { try run("CREATE TABLE t(a)", "INSERT INTO t VALUES (1)") }
        try test("other") { try run("CREATE TABLE o(a)", "INSERT INTO o VALUES (random())") }
        #expect(try FileSystem.contents(ofFile: path) == old)
        #expect(try #require(FileSystem.regularFile(path)).modified > 1_000_000_000_000_000_000)
    }

    @Test func theTwoNewestDistinctVersionsStay() throws {
        for number in [1, 1, 2, 3, 3, 2, 2] {
            try test { try run("SELECT \(number)") }
        }
        #expect(versions().map { $0.statements.map(\.sql) } == [["SELECT 2"], ["SELECT 3"]])
    }

    @Test func onlyATestThatPassedHasABaseline() throws {
        try test(passes: false) { try run("SELECT 1") }
        try test(fails: true) { try run("SELECT 2") }
        #expect(files.isEmpty)
        try test { try run("SELECT 3") }
        try test(fails: true) { try run("SELECT 4") }
        #expect(versions().map { $0.statements.map(\.sql) } == [["SELECT 3"]])
        let bundles = try BundleLocator.found(at: directory + "/artifacts").map {
            try BundleReader($0.location, scratchDirectory: directory)
        }
        #expect(bundles.map(\.metadata.formatVersion.description).sorted() == ["1.2", "1.3"])
        let withBaseline = try #require(bundles.first { $0.metadata.formatVersion == .withBaseline })
        let entry = try #require(withBaseline.archive.entry(named: Baseline.entry))
        let lines = try withBaseline.archive.contents(of: entry, limit: 1 << 20)
        #expect(Baseline.versions(in: lines) == versions())
        #expect(versions()[0].isOfSameBuild)
    }

    /// Another build of the program has other times in its images.
    @Test func statementsThatOtherPassingTestsChangedAreNamed() throws {
        for name in ["a", "b", "c", "failing"] {
            try test(name) { try run("SELECT 1 AS old, '\(name)'", "SELECT 2") }
        }
        for name in files {
            let path = Path.join(baselines, name)
            let old = BaselineFile(at: path).runs[0]
            var content = try #require(old.content)
            content.description.images = 1
            try BaselineFile(
                runs: [
                    #require(
                        BaselineFile.PassingRun(content.description, content.statements, hasLines: true))
                ]
            ).write(to: path)
        }
        for name in ["a", "b"] {
            try test(name) { try run("SELECT 1 AS new, '\(name)'", "SELECT 2") }
        }
        try test("c") { try run("SELECT 3 AS only", "SELECT 1 AS old, 'c'", "SELECT 2") }
        try test("failing", fails: true) { try run("SELECT 1 AS new, 'x'", "SELECT 2") }
        let bundle = try BundleReader(
            BundleLocator.single(at: directory + "/artifacts"), scratchDirectory: directory)
        let entry = try #require(bundle.archive.entry(named: Baseline.entry))
        let lines = try bundle.archive.contents(of: entry, limit: 1 << 20)
        let baseline = try #require(Baseline.versions(in: lines)?.first)
        #expect(baseline.common.map(\.shape) == ["SELECT ? AS new , ?", "SELECT ? AS old , ?"])
        #expect(!baseline.isOfSameBuild)
    }

    /// A directory may have the files of thousands of tests that this process doesn't run.
    @Test func aFileIsReadAgainOnlyIfItHasChanged() throws {
        let directory = BaselineDirectory(baselines)
        var (counts, known): ([CommonDifference: Int], [String: Int64]) = ([:], [:])
        func count() {
            directory.countDifferences(of: [], in: .current, &counts, &known)
        }
        for number in 1...2 { try test { try run("SELECT \(number) FROM (SELECT 1 AS a\(number))") } }
        let name = try #require(files.first)
        let path = Path.join(baselines, name)
        let runs = BaselineFile(at: path).runs
        func write(_ images: [UInt64]) throws {
            let runs = try zip(runs, images).map { run, images in
                var content = try #require(run.content)
                if images > 0 { content.description.images = images }
                return try #require(
                    BaselineFile.PassingRun(content.description, content.statements, hasLines: true))
            }
            try BaselineFile(runs: runs).write(to: path)
            _ = utimes(path, [timeval(tv_sec: 7, tv_usec: 0), timeval(tv_sec: 7, tv_usec: 0)])
        }
        // No other file is of this build, either.
        let maximum = 200
        for number in 0..<maximum {
            try FileSystem.write([], toNewFile: Path.join(baselines, "0\(number).baseline"))
        }
        try write([1, 1])
        count()
        count()
        #expect(known.count == maximum + 1 && counts.isEmpty)
        try write([0, 1])
        count()
        #expect(counts.isEmpty)
        _ = utimes(path, nil)
        count()
        #expect(counts.count == 2 && known[name] == .max)
    }

    /// The directory may be the user's own.
    @Test func whatKilledProcessesLeaveIsRemoved() throws {
        try FileSystem.createDirectory(baselines)
        let old = ["1f.baseline-123", "failure-artifacts-lines-Ab12cd"]
        let kept = [
            "2f.baseline-123", "3f.baseline", "big.sqlite", "failure-artifacts-lines-Ef34gh",
            "failure-artifacts-lines-mine", "lines-Ab12cd", "notes.baseline-123",
        ]
        for name in old + kept {
            let path = Path.join(baselines, name)
            if name.contains("lines") {
                try FileSystem.createDirectory(path)
                try FileSystem.write([], toNewFile: path + "/addresses")
            } else {
                try FileSystem.write([], toNewFile: path)
            }
            // More than all files of tests may have.
            if name == "big.sqlite" { try #require(truncate(path, 64 << 20) == 0) }
            let isNew = name.hasPrefix("2f") || name.contains("Ef34gh")
            let time = timeval(tv_sec: isNew ? Int(Timestamp.now.seconds) - 1800 : 7, tv_usec: 0)
            try #require(utimes(path, [time, time]) == 0)
        }
        try test { try run("SELECT 1") }
        let files = try FileSystem.contents(ofDirectory: baselines)
        #expect(Set(files).subtracting(kept).count == 1 && Set(kept).isSubset(of: files), "\(files)")
        #expect(versions().count == 1)
    }

    @Test func argumentsTellTestsApart() throws {
        try test("test", ["1"]) { try run("SELECT 1") }
        try test("test", ["2"]) { try run("SELECT 2") }
        #expect(versions("test", ["1"]).first?.statements.map(\.sql) == ["SELECT 1"])
        #expect(versions("test", ["2"]).first?.statements.map(\.sql) == ["SELECT 2"])
        #expect(versions().isEmpty)
    }

    @Test func theFirstHundredExecutionsOfATextHaveValues() throws {
        try test {
            let handle = try ApplicationHandle(":memory:")
            try handle.run("CREATE TABLE t(a)")
            for number in 1...300 { try insert("\(number)", with: handle) }
        }
        let statements = try #require(versions().first).statements.dropFirst()
        #expect(statements.count == 300)
        #expect(statements.map { $0.values != nil } == (1...300).map { $0 <= 100 })
        #expect(statements.allSatisfy { $0.changes == 1 || $0.order == 301 })
    }

    @Test(
        arguments: [
            { $0.baseline = .off }, { $0.redactions = [.leaveOutContent] }, { $0.maximumStatements = 0 },
            { $0.mode = .off }, { $0.discoversStores = false },
        ] as [@Sendable (inout CaptureConfiguration) -> Void])
    func nothingIsRecorded(if change: @Sendable (inout CaptureConfiguration) -> Void) throws {
        var configuration = Self.configuration(in: directory)
        change(&configuration)
        session.configure(configuration)
        try test { try run("SELECT 1") }
        #expect(files.isEmpty)
        session.configure(Self.configuration(in: directory))
        try test { try run("SELECT 1") }
        #expect(files.count == 1)
    }

    /// The memory for the statements of a running test is limited.
    @Test func aTestWithTooManyStatementsHasNone() throws {
        let text = "SELECT '" + String(repeating: "a", count: 10_000) + "'"
        try test("few") { for _ in 1...100 { try run(text) } }
        try test("many") { for _ in 1...300 { try run(text) } }
        #expect(versions("few").count == 1 && versions("many").isEmpty)
    }

    @Test func aFailureHasItsEarlierOccurrences() throws {
        for passes in [false, true, false] {
            try test(fails: true) { try run("SELECT 1") }
            if passes { try test { try run("SELECT 1") } }
        }
        let paths = try FileSystem.contents(ofDirectory: directory + "/artifacts").filter {
            $0.hasSuffix(".zip")
        }
        let seen = try paths.compactMap { name in
            try BundleReader(
                BundleLocation(path: directory + "/artifacts/" + name), scratchDirectory: directory
            ).metadata.seenBefore
        }.sorted { $0.count < $1.count }
        #expect(paths.count == 3)
        #expect(seen.map(\.count) == [1, 2] && seen.map(\.passedOnRetry) == [0, 1])
        #expect(
            Set(seen.map(\.at)).count == 1
                && seen[0].commit == CheckedOutCommit.current(in: Path.currentDirectory))
    }

    @Test func aDirectoryThatCannotBeCreatedMeansNoBaseline() throws {
        try FileSystem.write([], toNewFile: baselines)
        try test { try run("SELECT 1") }
        try test(fails: true) { try run("SELECT 1") }
        #expect(try FileSystem.contents(ofFile: baselines) == [])
    }

    @Test func aDamagedFileIsReplaced() throws {
        for number in 1...2 { try test { try run("CREATE TABLE t\(number)(a)") } }
        let path = try Path.join(baselines, #require(files.first))
        let whole = try FileSystem.contents(ofFile: path)
        func texts(_ version: Baseline) -> [String] { version.statements.map(\.sql) }
        let good = versions().map(texts)
        #expect(good.count == 2)
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 0x55
            for bytes in [damaged, Array(whole[..<index])] {
                try FileSystem.remove(path)
                try FileSystem.write(bytes, toNewFile: path)
                // A checksum covers what a version has.
                #expect(versions().map(texts).allSatisfy(good.contains))
            }
        }
        try test { try run("CREATE TABLE t2(a)") }
        #expect(versions().first.map(texts) == good[0])
    }

    /// A test that ends while connections of others are in use has no baseline if they are in use for too long.
    @Test func testsAtTheSameTimeAreToldApart() async throws {
        let shared = try ApplicationHandle(":memory:")
        session.testsWillHaveTasks()
        let tests = (1...40).map { number in
            session.testWillStart(
                framework: "Swift Testing", suite: "Suite", name: "test\(number)", isAlone: false)
        }
        let end: @Sendable (RunningTest) -> Void = { [session] test in
            session.testDidPass(test)
            session.testDidFinish(test)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, test) in zip(1..., tests) {
                group.addTask {
                    try await RunningTest.$ofTask.withValue(test) {
                        let own = try ApplicationHandle(":memory:")
                        for step in 1...5 {
                            try own.run("SELECT \(number), \(step)")
                            await Task.yield()
                        }
                        if number.isMultiple(of: 2) { end(test) }
                    }
                }
            }
            try await group.waitForAll()
        }
        for (number, test) in zip(1..., tests) where !number.isMultiple(of: 2) {
            RunningTest.$ofTask.withValue(test) { end(test) }
        }
        withExtendedLifetime(shared) {}
        session.testsDidFinish()
        session.state.withLock { $0.passing }?.write()
        for number in 1...40 {
            let found = versions("test\(number)").map { $0.statements.map(\.sql) }
            let expected = [(1...5).map { "SELECT \(number), \($0)" }]
            #expect(found == expected || number.isMultiple(of: 2) && found.isEmpty)
        }
    }
}
