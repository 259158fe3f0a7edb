import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// Links that another user has made in the artifacts directory.
@Suite struct LinkTests {
    private let limits = DirectoryLimits(storeBytes: 1 << 30, totalBytes: 1 << 30, bundles: 1000)

    /// A file outside of the artifacts directory.
    private final class Victim {
        let directory: String
        var path: String { directory + "/victim" }
        private let content = Array("precious\n".utf8)

        init() throws {
            directory = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "victim-")
            try FileSystem.write(content, toNewFile: path)
        }

        deinit { try? FileSystem.remove(directory) }

        func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
            #expect(
                try FileSystem.contents(ofFile: path) == content, sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: [true, false])
    func theUsageIsNotWrittenThroughALink(isHardLink: Bool) throws {
        let place = try Place()
        let victim = try Victim()
        try place.publish([1], limits: limits)
        try FileSystem.remove(place.lockFile)
        if isHardLink {
            try FileManager.default.linkItem(atPath: victim.path, toPath: place.lockFile)
        } else {
            try FileManager.default.createSymbolicLink(
                atPath: place.lockFile, withDestinationPath: victim.path)
        }
        try place.publish([1], limits: limits)
        place.directory.countFailureLeftOut()
        try victim.check()
        #expect(try FileSystem.statusWithoutFollowing(place.lockFile)?.kind == .regular)
        #expect(place.directory.failuresLeftOut == 1)
    }

    @Test func theUsageIsNotWrittenToAPipe() throws {
        let place = try Place()
        try #require(mkfifo(place.lockFile, 0o600) == 0)
        try place.publish([1], limits: limits)
    }

    @Test func capturesAreNotStagedBehindALink() throws {
        let place = try Place()
        let victim = try Victim()
        try FileManager.default.createSymbolicLink(
            atPath: place.directory.inFlight, withDestinationPath: victim.directory)
        #expect(!place.directory.hasHiddenFiles)
        #expect(throws: SystemError.self) { try place.directory.hiddenNames() }
        let room = try StagingRoom(in: place.directory, within: limits)
        #expect(try FileSystem.contents(ofDirectory: victim.directory) == ["victim"])
        #expect(try FileSystem.statusWithoutFollowing(place.directory.inFlight)?.kind == .directory)
        place.directory.discard(room.staging)
    }
}
