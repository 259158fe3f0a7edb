import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsTestRun

@Suite struct ProcessTreeTests {
    /// Starts a shell and its child, which live until their input ends.
    private func start() throws -> (program: RunningProgram, child: Int32) {
        let program = try RunningProgram(["/bin/sh", "-c", "sh -c 'echo $$; exec cat'; :"])
        return (program, try #require(program.readLine().flatMap { Int32($0) }))
    }

    @Test func whatWasThereBeforeIsNobodyOfOurs() throws {
        let before = try start()
        var tree = ProcessTree()
        let after = try start()
        let members = tree.members()
        let numbers = members.map(\.number)
        let parent = try #require(numbers.firstIndex(of: after.program.identifier))
        let child = try #require(numbers.firstIndex(of: after.child))
        #expect(parent < child)
        #expect(Set(numbers).isDisjoint(with: [before.program.identifier, before.child]))
        #expect(members[child].isAlive)

        // A process with the same number and another start is a different process.
        let stranger = ProcessIdentity(number: members[child].number, start: members[child].start &+ 1)
        #expect(!stranger.isAlive)
        stranger.send(SIGKILL)
        #expect(members[child].isAlive)

        // Close all pipes first: the second process may have inherited the first one's input.
        for (program, _) in [before, after] { program.closeInput() }
        for (program, _) in [before, after] { _ = try program.finish() }
        #expect(!members[parent].isAlive)
        #expect(Set(tree.members()).isDisjoint(with: [members[parent], members[child]]))
    }
}
