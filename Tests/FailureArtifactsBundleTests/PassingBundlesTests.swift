import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsBundle

@Suite struct PassingBundlesTests {
    private func test(_ name: String, arguments: [String]? = nil) -> BundleMetadata.Test {
        BundleMetadata.Test(framework: "XCTest", suite: "S", name: name, arguments: arguments)
    }

    @Test(arguments: [
        "testTotal", "total(of:in:)", String(repeating: "果物", count: 80),
        String(repeating: "a", count: 400),
    ])
    func theNameSaysIt(_ name: String) {
        let passed = BundleName(test: test(name), suffix: "passed").description
        let failed = BundleName(test: test(name)).description
        #expect(BundleName.isOfPassingTest(passed) && !BundleName.isOfPassingTest(failed))
        #expect(passed.utf8.count <= 200)
        #expect(BundleName.isName(failed, with: BundleName.stem(of: test(name))))
        #expect(BundleName.isName(passed, with: BundleName.stem(of: test(name), suffix: "passed")))
        #expect(!BundleName.isName(passed, with: BundleName.stem(of: test(name))))
    }

    @Test func laterPassesAreRecordedByTheNamesOfBundles() throws {
        let root = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "passing-")
        defer { try? FileSystem.remove(root) }
        let directory = ArtifactsDirectory(path: root, readers: .group)
        let names = ["S.t-00000001.zip", "S.t-00000002.zip", "S.t-passed-00000003.zip", "other.zip"]
        for name in names { try FileSystem.write([1], toNewFile: root + "/" + name) }
        #expect(directory.passedSince.isEmpty)
        #expect(directory.failuresToPass.sorted() == Array(names.prefix(2)))
        try directory.recordPass(of: test("other"))
        #expect(directory.passedSince.isEmpty)
        try directory.recordPass(of: test("t"))
        #expect(directory.passedSince == Set(names.prefix(2)))
        #expect(directory.failuresToPass.isEmpty)
        #expect(try FileSystem.status(of: root + "/.passed")?.permissions == 0o640)
        // Names of bundles that were removed are forgotten, and a link is replaced.
        try FileSystem.remove(root + "/" + names[0])
        try FileSystem.write(Array("S.t-00000002.zip\n".utf8), toNewFile: root + "/target")
        try FileSystem.remove(root + "/.passed")
        #expect(symlink("target", root + "/.passed") == 0)
        #expect(directory.passedSince.isEmpty)
        try directory.recordPass(of: test("t"))
        #expect(directory.passedSince == [names[1]])
        #expect(try FileSystem.contents(ofFile: root + "/target").count == 17)
        // Nothing else keeps a directory that was made for the bundles.
        for name in names + ["target"] { try FileSystem.remove(root + "/" + name) }
        try FileSystem.createDirectory(root + "/.in-flight")
        directory.removeIfEmpty()
        #expect(try FileSystem.status(of: root) == nil)
    }

    @Test func thereIsRoomForHalf() throws {
        let root = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "passing-")
        defer { try? FileSystem.remove(root) }
        let directory = ArtifactsDirectory(path: root)
        func room(_ bytes: UInt64, _ bundles: Int) -> UInt64? {
            directory.roomForPassingTest(
                within: DirectoryLimits(storeBytes: 1 << 30, totalBytes: bytes, bundles: bundles))
        }
        #expect(room(1000, 2) == 500)
        // The only bundle is for a failure.
        #expect(room(1000, 1) == nil && room(0, 2) == nil && room(1, 2) == nil)
        func add(_ name: String, _ bytes: Int) throws {
            try FileSystem.write([UInt8](repeating: 0, count: bytes), toNewFile: root + "/" + name)
        }
        try add("S.a-passed-00000001.zip", 100)
        #expect(room(1000, 4) == 400 && room(1000, 3) == nil && room(200, 9) == nil)
        try add("S.a-00000001.zip", 700)
        #expect(room(1000, 4) == 200 && room(1000, 3) == nil && room(800, 9) == nil)
    }
}
