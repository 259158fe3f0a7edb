import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The occurrences of failures beside the baselines.
@Suite final class FailureRecordTests {
    private let directory: BaselineDirectory
    private let test = BundleMetadata.Test(framework: "XCTest", suite: "Suite", name: "test")
    private var second: Int64 = 0

    init() throws {
        directory = BaselineDirectory(
            try FileSystem.createUniqueDirectory(
                in: FileManager.default.temporaryDirectory.path, prefix: "failure records "))
    }

    deinit { try? FileSystem.remove(directory.path) }

    private var path: String { directory.failures(of: test) }

    private func date(_ second: Int64) -> Timestamp { Timestamp(seconds: 1_795_860_000 + second) }

    /// Returns the images of a build.
    private func images(_ build: Int64) -> LoadedImages {
        let program = LoadedImage(path: "/p/tests", base: 0, start: 0, end: 1, modified: build)
        return LoadedImages(images: [program], workingDirectory: "/p")
    }

    private func fail(
        _ fingerprint: String = "f", build: Int64 = 1, commit: String? = nil
    ) -> BundleMetadata.SeenBefore? {
        second += 1
        return directory.noteFailure(
            of: test, fingerprint, at: date(second).description, in: images(build), commit: commit)
    }

    private func pass(build: Int64 = 1, commit: String? = nil, secondsAgo: Int64 = 0) {
        second += 1
        directory.record(
            [.init(test, at: date(second - secondsAgo), statements: [], stacks: [])], of: commit,
            in: images(build), by: nil
        ) { _ in [] }
    }

    private func seen(_ count: Int, passedOnRetry: Int = 0, commit: String? = nil)
        -> BundleMetadata.SeenBefore
    {
        BundleMetadata.SeenBefore(
            count: count, at: date(1).description, commit: commit, passedOnRetry: passedOnRetry)
    }

    @Test func occurrencesAreCounted() {
        #expect(fail(commit: "3f2a9c1") == nil)
        #expect(fail(build: 2, commit: "77ab3e0") == seen(1, commit: "3f2a9c1"))
        #expect(fail("other") == nil)
        #expect(fail() == seen(2, commit: "3f2a9c1"))
    }

    @Test func aPassOfTheSameBuildIsARetry() {
        _ = fail()
        for _ in 1...2 { pass() }
        #expect(fail() == seen(1, passedOnRetry: 1))
        // Something may have been mended.
        pass(build: 2)
        pass()
        #expect(fail() == seen(2, passedOnRetry: 1))
        pass()
        #expect(fail() == seen(3, passedOnRetry: 2))
    }

    /// The pass of a process is noted at its end.
    @Test func aPassBeforeTheFailureIsNone() {
        _ = fail()
        pass(secondsAgo: 5)
        #expect(fail() == seen(1))
    }

    @Test func theCommitTellsOnlyOnACI() {
        let codes = [(1, "a"), (1, "b"), (2, "a"), (2, "b")].map { build, commit in
            FailureRecord.Code(of: images(build), commit: commit)
        }
        func same(_ variables: [String: String]) -> [Bool] {
            codes.map { $0.isSame(as: codes[0], variables: variables) }
        }
        #expect(same([:]) == [true, true, false, false])
        #expect(same(["CI": "true"]) == [true, true, true, false])
        let unknown = FailureRecord.Code(of: images(2), commit: nil)
        #expect(!unknown.isSame(as: .init(of: images(1), commit: nil), variables: ["CI": "1"]))
    }

    /// A bundle that can't be published is made again later.
    @Test func anOccurrenceIsCountedOnce() {
        _ = fail()
        for _ in 1...2 {
            #expect(fail() == seen(1))
            second -= 1
        }
    }

    @Test func theLastFailuresAreKept() {
        for number in 1...21 { _ = fail("\(number)") }
        #expect(fail("2") != nil)
        #expect(fail("1") == nil)
    }

    @Test func passingTestsWithoutFailuresHaveNoFile() throws {
        pass()
        #expect(try FileSystem.contents(ofDirectory: directory.path).count == 1)
        #expect(FileSystem.regularFile(path) == nil)
    }

    @Test(arguments: [[], Array("[{}]".utf8), Array("[".utf8)]) func aDamagedFileIsReplaced(
        _ bytes: [UInt8]
    ) throws {
        try FileSystem.createDirectory(directory.path)
        try FileSystem.write(bytes, toNewFile: path)
        pass()
        #expect(try FileSystem.contents(ofFile: path) == bytes)
        #expect(fail() == nil)
        #expect(fail()?.count == 1)
    }
}
