import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Watched files, from the start of a test to its failure.
@Suite struct FileWatchTests {
    private func write(_ text: String, to path: String) throws {
        try FileManager.default.createDirectory(
            atPath: Path.directory(of: path), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    /// Sets the time of a file's last change to a minute ago.
    private func age(_ path: String) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: path)
    }

    private func watch(_ directory: String, excluding: String = "/nowhere") -> FileWatch {
        FileWatch(path: directory, name: "files", leavingOut: excluding)
    }

    /// Returns the changes as texts such as `a.txt modified 1 2`.
    private func changes(_ watch: FileWatch, excluding: String = "/nowhere") -> [String] {
        watch.changes(leavingOut: excluding).changes.map { change in
            let sizes = [change.description.earlierBytes, change.description.bytes].map { size in
                size.map { "\($0)" } ?? "-"
            }
            return
                "\(change.description.path) \(change.description.change) \(sizes.joined(separator: " "))"
        }
    }

    @Test func eachKindOfChange() throws {
        try withTemporaryDirectory { directory in
            for name in ["same", "touched", "replaced", "grown", "deleted", "sub/deep/file"] {
                try write("old", to: directory + "/" + name)
            }
            let watch = watch(directory)
            try write("old", to: directory + "/touched")
            try write("new", to: directory + "/replaced")
            try write("old and more", to: directory + "/grown")
            try FileSystem.remove(directory + "/deleted")
            try write("new", to: directory + "/sub/deep/file")
            try write("", to: directory + "/sub/added")
            #expect(
                changes(watch) == [
                    "deleted deleted 3 -", "grown modified 3 12", "replaced modified 3 3",
                    "sub/added added - 0", "sub/deep/file modified 3 3",
                ])
            #expect(watch.changes(leavingOut: "").count == 6)
        }
    }

    /// A change within the precision of time stamps keeps the file's size and time.
    @Test(arguments: [false, true]) func aChangeWithoutATimeStamp(isOld: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/file"
            try write("old", to: path)
            let time = Date(timeIntervalSinceNow: isOld ? -60 : -1)
            let attributes: [FileAttributeKey: Any] = [.modificationDate: time]
            try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
            let watch = watch(directory)
            // The same file is overwritten in its place.
            let file = try File(updating: path)
            try Array("new".utf8).withUnsafeBytes { try file.write($0, at: 0) }
            try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
            // Reading all files at each failure would be slow, so old ones are known by their attributes.
            #expect(changes(watch) == (isOld ? [] : ["file modified 3 3"]))
        }
    }

    /// The content of a large file isn't kept, so its attributes show that it changed.
    @Test func aLargeFile() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/large"
            try write(String(repeating: "x", count: Int(FileListing.Limit.keptFileBytes) + 1), to: path)
            try age(path)
            let watch = watch(directory)
            #expect(changes(watch) == [])
            try write(String(repeating: "y", count: Int(FileListing.Limit.keptFileBytes) + 1), to: path)
            let found = watch.changes(leavingOut: "")
            #expect(found.changes.map(\.description.change) == [.modified])
            #expect(found.changes.first?.earlierContent == nil)
        }
    }

    /// The limit on the number of files: with a part of the files, no file seems to be new.
    @Test func tooManyFiles() throws {
        try withTemporaryDirectory { directory in
            for number in 0...FileListing.Limit.files {
                try write("", to: directory + "/\(number + 1000)")
            }
            let watch = watch(directory)
            try write("changed", to: directory + "/1000")
            try write("new", to: directory + "/0")
            let found = watch.changes(leavingOut: "")
            #expect(!found.isComplete && found.count == FileListing.Limit.files)
            #expect(found.changes.map(\.description.path) == ["1000"])
        }
    }

    @Test func directoriesThatAreTooDeep() throws {
        try withTemporaryDirectory { directory in
            let deep = (0...FileListing.Limit.depth).map { "d\($0)" }.joined(separator: "/")
            try write("", to: directory + "/" + deep + "/file")
            let found = watch(directory).changes(leavingOut: "")
            #expect(!found.isComplete && found.count == 0)
        }
    }

    /// Neither links nor pipes are read, and neither is the directory of bundles.
    @Test(.timeLimit(.minutes(1))) func otherThanFiles() throws {
        try withTemporaryDirectory { directory in
            try write("", to: directory + "/inside/file")
            let watch = watch(directory + "/inside", excluding: directory + "/inside/artifacts")
            #expect(mkfifo(directory + "/inside/pipe", 0o600) == 0)
            try write("", to: directory + "/outside")
            for (name, target) in [("link", "outside"), ("loop", "inside"), ("gone", "nothing")] {
                try FileManager.default.createSymbolicLink(
                    atPath: directory + "/inside/" + name, withDestinationPath: directory + "/" + target)
            }
            try write("", to: directory + "/inside/artifacts/bundle.zip")
            #expect(changes(watch, excluding: directory + "/inside/artifacts") == [])
        }
    }

    @Test func aSingleFile() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let watch = watch(path)
            #expect(changes(watch) == [])
            try write("{}", to: path)
            #expect(changes(watch) == ["settings.json added - 2"])
            #expect(watch.file("settings.json") == path)
        }
    }

    @Test func userDefaults() throws {
        let suite = "watch-\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        let empty = FileWatch(userDefaultsSuite: suite)
        #expect(changes(empty) == [])
        defaults.set(1, forKey: "a")
        #expect(empty.changes(leavingOut: "").changes.map(\.description.change) == [.added])
        let watch = FileWatch(userDefaultsSuite: suite)
        defaults.set(1, forKey: "a")
        #expect(changes(watch) == [])
        defaults.set(2, forKey: "a")
        let change = try #require(watch.changes(leavingOut: "").changes.first)
        #expect(change.description.path == suite + ".plist" && change.description.change == .modified)
        for (content, value) in [(change.earlierContent, 1), (change.content, 2)] {
            let list = try PropertyListSerialization.propertyList(
                from: Data(try #require(content)), format: nil)
            #expect(list as? [String: Int] == ["a": value])
        }
        defaults.removePersistentDomain(forName: suite)
        #expect(watch.changes(leavingOut: "").changes.map(\.description.change) == [.deleted])
    }
}
