import FailureArtifactsSystem
import Foundation
import Testing

@Suite struct PrivateDirectoryTests {
    private func withParent(_ body: (String) throws -> Void) throws {
        let parent = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-private-tests-")
        defer { try? FileSystem.remove(parent) }
        try body(parent)
    }

    @Test func itIsPrivateAndRemovedAtTheEnd() throws {
        try withParent { parent in
            do {
                let directory = try PrivateDirectory.create(in: parent)
                try FileSystem.write([1], toNewFile: directory.path + "/file")
                #expect(try FileSystem.status(of: directory.path)?.permissions == 0o700)
                let other = try PrivateDirectory.create(in: parent)
                #expect(other.path != directory.path)
                #expect(try FileSystem.contents(ofDirectory: parent).count == 2)
            }
            #expect(try FileSystem.contents(ofDirectory: parent) == [])
        }
    }

    /// The process that left a directory is dead, or its number belongs to another process now.
    @Test func leftoversOfDeadProcessesAreRemoved() throws {
        try withParent { parent in
            let me = ProcessIdentity.current
            let dead = "failure-artifacts-private-\(me.number)-\(me.start + 1)-abcdef"
            let alive = "failure-artifacts-private-\(me.number)-\(me.start)-abcdef"
            let others = ["failure-artifacts-private-x-1-abcdef", "failure-artifacts-abcdef"]
            for name in [dead, alive] + others {
                try FileSystem.createDirectory(parent + "/" + name)
                try FileSystem.write([1], toNewFile: parent + "/" + name + "/store")
            }
            _ = try PrivateDirectory.create(in: parent)
            let left = try FileSystem.contents(ofDirectory: parent)
            #expect(Set(left) == Set([alive] + others))
        }
    }

    /// Directories of another container stay until their locks are free, and those of another machine for an hour.
    @Test func directoriesOfOtherNamespaces() throws {
        try withParent { parent in
            let me = ProcessIdentity.current
            let boot = me.space.prefix { $0 != "." }
            let container = ProcessIdentity(number: me.number, start: me.start, space: "\(boot).1")
            let machine = ProcessIdentity(number: me.number, start: me.start + 1, space: "x.1")
            let paths = [container, machine].map {
                "\(parent)/failure-artifacts-private-\($0.text)-abcdef"
            }
            for path in paths { try FileSystem.createDirectory(path) }
            #expect(container.isAlive && machine.isAlive)
            var lock = OwnerLock(of: paths[0])
            #expect(lock != nil && OwnerLock(of: paths[0]) == nil)
            _ = try PrivateDirectory.create(in: parent)
            #expect(try FileSystem.contents(ofDirectory: parent).count == 2)
            lock = nil
            _ = try PrivateDirectory.create(in: parent)
            #expect(try FileSystem.contents(ofDirectory: parent) == [Path.name(of: paths[1])])
        }
    }
}
