import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsTestRun

@Suite struct ProcessTreeTests {
    /// Starts a shell and its child, which live until their input ends.
    ///
    /// The child's number is printed first.
    private func start() throws -> (process: Process, input: Pipe, child: Int32) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "sh -c 'echo $$; exec cat'; :"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var text = ""
        while !text.hasSuffix("\n") {
            text += String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        }
        return (process, input, try #require(Int32(text.dropLast())))
    }

    @Test func whatWasThereBeforeIsNobodyOfOurs() throws {
        let before = try start()
        var tree = ProcessTree()
        let after = try start()
        let members = tree.members()
        let numbers = members.map(\.number)
        let parent = try #require(numbers.firstIndex(of: after.process.processIdentifier))
        let child = try #require(numbers.firstIndex(of: after.child))
        #expect(parent < child)
        #expect(Set(numbers).isDisjoint(with: [before.process.processIdentifier, before.child]))
        #expect(members[child].isAlive)

        // A process with the same number and another start is a different process.
        let stranger = ProcessIdentity(number: members[child].number, start: members[child].start &+ 1)
        #expect(!stranger.isAlive)
        stranger.send(SIGKILL)
        #expect(members[child].isAlive)

        // Close all pipes first: the second process may have inherited the first one's input.
        for (_, input, _) in [before, after] { try input.fileHandleForWriting.close() }
        for (process, _, _) in [before, after] { process.waitUntilExit() }
        #expect(!members[parent].isAlive)
        #expect(Set(tree.members()).isDisjoint(with: [members[parent], members[child]]))
    }
}
