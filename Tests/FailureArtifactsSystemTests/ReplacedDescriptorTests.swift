import FailureArtifactsSystem
import Foundation
import Testing

/// A test may close all descriptors of its process, and open files of its own under the same numbers.
@Suite struct ReplacedDescriptorTests {
    /// Runs `body` with a file of the application under the number of a new file, and returns the application's file.
    private func replacing(_ body: (consuming File) throws -> Void) throws -> [UInt8] {
        let directory = try FileSystem.createUniqueDirectory(
            in: FileManager.default.temporaryDirectory.path, prefix: "system tests ")
        defer { try? FileSystem.remove(directory) }
        let file = try File(creating: directory + "/ours")
        let number = file.descriptor
        let own = open(directory + "/theirs", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(own >= 0 && write(own, "theirs", 6) == 6)
        // Takes the place of our file in one step, so that no other test gets the number.
        try #require(dup2(own, number) == number)
        close(own)
        try body(file)
        #expect(fcntl(number, F_GETFD) >= 0, "It was closed.")
        close(number)
        return try FileSystem.contents(ofFile: directory + "/theirs")
    }

    @Test func isNotWrittenTo() throws {
        let content = try replacing { file in
            let error = #expect(throws: SystemError.self) {
                try [UInt8](repeating: 1, count: 20).withUnsafeBytes { try file.write($0, at: 0) }
            }
            #expect(error?.code == EBADF)
            let failure = #expect(throws: SystemError.self) { try file.resize(to: 0) }
            #expect(failure?.code == EBADF)
        }
        #expect(content == Array("theirs".utf8))
    }

    @Test(arguments: [false, true]) func isNotClosed(byDeinit: Bool) throws {
        let content = try replacing { file in
            if !byDeinit { try file.close() }
        }
        #expect(content == Array("theirs".utf8))
    }

    @Test func keepsItsLock() throws {
        let content = try replacing { file in
            #expect(flock(file.descriptor, LOCK_EX | LOCK_NB) == 0)
            file.unlock()
            let other = open("/proc/self/fd/\(file.descriptor)", O_RDONLY)
            defer { close(other) }
            #expect(flock(other, LOCK_EX | LOCK_NB) != 0)
        }
        #expect(content == Array("theirs".utf8))
    }
}
