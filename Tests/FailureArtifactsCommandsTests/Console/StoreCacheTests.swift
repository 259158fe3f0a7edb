import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct StoreCacheTests {
    /// Writes a bundle whose store is large enough to be cached, with one row in `fruit`.
    @discardableResult
    private func bundle(_ fixture: borrowing Fixture, fruit: String = "apple") throws -> String {
        try fixture.zip(
            "a.zip",
            [
                ("metadata.json", Array(Metadata.store("s").utf8)),
                (
                    "stores/s.sqlite",
                    try fixture.store(
                        """
                        CREATE TABLE fruit(name); INSERT INTO fruit VALUES ('\(fruit)');
                        CREATE TABLE filler(b); INSERT INTO filler VALUES (zeroblob(9000000))
                        """)
                ),
            ])
    }

    private func query(
        _ fixture: borrowing Fixture, cache: String = "cache", _ sql: String = "SELECT name FROM fruit"
    ) -> Outcome {
        run("query", fixture.path("a.zip"), sql, environment: environment(fixture, cache: cache))
    }

    private func open(_ fixture: borrowing Fixture, _ sql: String) throws -> Outcome {
        try Program.tool(
            "open", fixture.path("a.zip"), "--", sql, environment: environment(fixture))
    }

    private func environment(
        _ fixture: borrowing Fixture, cache: String = "cache"
    ) -> [String: String] {
        [
            "PATH": "/usr/bin:/bin", "TMPDIR": fixture.directory,
            "FAILURE_ARTIFACTS_CACHE": cache == "off" ? cache : fixture.path(cache),
        ]
    }

    private func kept(_ fixture: borrowing Fixture) throws -> [String] {
        try FileSystem.contents(ofDirectory: fixture.path("cache"))
    }

    /// Damages the packed store without changing the bundle's size or modification time.
    private func damage(_ fixture: borrowing Fixture) throws {
        let program = """
            import os, sys, zipfile
            path = sys.argv[1]
            status = os.stat(path)
            info = zipfile.ZipFile(path).getinfo("stores/s.sqlite")
            with open(path, "r+b") as file:
                file.seek(info.header_offset + 200)
                file.write(bytes(100))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            """
        let done = try Program.run("/usr/bin/env", ["python3", "-c", program, fixture.path("a.zip")])
        try #require(done.status == 0, "\(done.error)")
    }

    @Test func theSecondTimeNothingIsTakenOut() throws {
        let fixture = try Fixture()
        try bundle(fixture)
        #expect(query(fixture).output == "name\r\napple\r\n")
        #expect(try kept(fixture).count == 1)
        try damage(fixture)
        #expect(query(fixture, cache: "off").status == 65)
        #expect(query(fixture).output == "name\r\napple\r\n")
        #expect(try open(fixture, "SELECT name FROM fruit").output == "apple\n")
        #expect(query(fixture).output == "name\r\napple\r\n")
        #expect(try kept(fixture).count == 1)
        #expect(try FileSystem.contents(ofDirectory: fixture.directory) == ["a.zip", "cache"])
    }

    @Test func whatWasChangedIsNotKept() throws {
        let fixture = try Fixture()
        try bundle(fixture)
        for sql in [
            "UPDATE fruit SET name = 'pear'", "PRAGMA user_version = 0; PRAGMA user_version = 7",
        ] {
            #expect(query(fixture).status == 0)
            #expect(try open(fixture, sql + "; SELECT name FROM fruit").status == 0)
            #expect(try kept(fixture) == [])
            #expect(query(fixture).output == "name\r\napple\r\n")
        }
        // A changed file isn't cached without an earlier query either.
        try FileSystem.remove(fixture.path("cache"))
        _ = try open(fixture, "DELETE FROM fruit")
        #expect(try kept(fixture) == [])
        _ = try open(fixture, "SELECT 1")
        #expect(try kept(fixture).count == 1)
    }

    @Test func anotherBundleOfTheSameNameIsAnotherBundle() throws {
        let fixture = try Fixture()
        try bundle(fixture, fruit: "apple")
        #expect(query(fixture).output == "name\r\napple\r\n")
        try FileSystem.remove(fixture.path("a.zip"))
        try bundle(fixture, fruit: "lemon")
        #expect(query(fixture).output == "name\r\nlemon\r\n")
        #expect(try kept(fixture).count == 2)
    }

    @Test(arguments: [
        "printf x | dd of=$FILE bs=1 seek=8200 conv=notrunc", "truncate -s 5000 $FILE",
        "chmod 644 $FILE",
        "touch $FILE", "rm $FILE; mkdir $FILE", "cp $FILE x; rm $FILE; ln -s /dev/null $FILE",
    ])
    func aFileThatSomebodyTouchedIsNotServed(command: String) throws {
        let fixture = try Fixture()
        try bundle(fixture)
        #expect(query(fixture).status == 0)
        let file = fixture.path("cache/\(try #require(try kept(fixture).first))")
        let done = try Program.run(
            "/bin/sh", ["-c", command + " 2>&1"], environment: ["FILE": file],
            directory: fixture.directory)
        try #require(done.status == 0, "\(done.output)")
        try damage(fixture)
        // The store is extracted from the bundle again, which is now damaged.
        #expect(query(fixture).status == 65)
    }

    @Test func withoutAPlaceItWorksAsEver() throws {
        let fixture = try Fixture()
        try bundle(fixture)
        try fixture.write([1], to: "file")
        try FileSystem.createDirectory(fixture.path("open"))
        _ = try Program.run("/bin/chmod", ["777", fixture.path("open")])
        for cache in ["off", "file", "file/below", "open"] {
            #expect(query(fixture, cache: cache).output == "name\r\napple\r\n", "\(cache)")
        }
        #expect(try FileSystem.contents(ofDirectory: fixture.directory) == ["a.zip", "file", "open"])
        #expect(try FileSystem.contents(ofDirectory: fixture.path("open")) == [])
        #expect(StoreCache(environment: [:]) == nil)
    }

    @Test func thePlaceIsTheSystems() {
        func place(_ environment: [String: String]) -> String? {
            StoreCache(environment: environment)?.directory
        }
        #if !canImport(Darwin)
        #expect(place(["HOME": "/h"]) == "/h/.cache/failure-artifacts")
        #expect(place(["HOME": "/h", "XDG_CACHE_HOME": "/x"]) == "/x/failure-artifacts")
        #expect(place(["HOME": "/h", "XDG_CACHE_HOME": "x"]) == "/h/.cache/failure-artifacts")
        #endif
        #expect(place(["HOME": "/h", "FAILURE_ARTIFACTS_CACHE": "/c"]) == "/c")
        #expect(place(["HOME": "/h", "FAILURE_ARTIFACTS_CACHE": "off"]) == nil)
        #expect(place(["HOME": ""]) == nil)
    }

    @Test func theOldestGoesFirst() throws {
        let fixture = try Fixture()
        let cache = StoreCache(directory: fixture.path("cache"), limit: 250, minimum: 1)
        #expect(!cache.keeps(size: 251))
        let mark = Timestamp(seconds: 946_684_800)
        for (index, name) in ["b", "a", "c", "d"].enumerated() {
            guard let lease = cache.lease() else {
                Issue.record("The cache cannot be used.")
                return
            }
            let file = lease.directory + "/x.sqlite"
            try FileSystem.write([UInt8](repeating: 7, count: 100), toNewFile: file)
            cache.mark(file)
            cache.keep(file, as: name + ".sqlite", size: 100)
            lease.end()
            // The access times are seconds apart, without waiting.
            if index < 3 {
                try FileSystem.setTimes(
                    of: fixture.path("cache/\(name).sqlite"),
                    accessed: Timestamp(seconds: mark.seconds + Int64(index)), modified: mark)
            }
        }
        #expect(try kept(fixture) == ["c.sqlite", "d.sqlite"])
        cache.makeRoom(for: 100)
        #expect(try kept(fixture) == ["d.sqlite"])
    }

    @Test func whatSomebodyReadsIsNotGivenAway() throws {
        let fixture = try Fixture()
        let cache = StoreCache(directory: fixture.path("cache"), limit: 250, minimum: 1)
        try FileSystem.createDirectory(fixture.path("cache"))
        let kept = fixture.path("cache/k.sqlite")
        try FileSystem.write([UInt8](repeating: 7, count: 100), toNewFile: kept)
        cache.mark(kept)
        let (reader, writer) = (fixture.path("reader"), fixture.path("writer"))
        #expect(cache.link("k.sqlite", to: reader, size: 100))
        #expect(!cache.take("k.sqlite", to: writer, size: 100))
        #expect(FileSystem.regularFile(kept) != nil && FileSystem.regularFile(writer) == nil)
        try FileSystem.remove(reader)
        #expect(cache.take("k.sqlite", to: writer, size: 100))
        #expect(FileSystem.regularFile(kept) == nil)
    }

    @Test func whatAnEndedProcessHasLeftIsRemoved() throws {
        let fixture = try Fixture()
        let cache = StoreCache(directory: fixture.path("cache"))
        guard let lease = cache.lease() else {
            Issue.record("The cache cannot be used.")
            return
        }
        try FileSystem.write([1], toNewFile: lease.directory + "/x.sqlite")
        try fixture.write([1], to: "cache/lease-gone/x.sqlite")
        cache.makeRoom(for: 0)
        #expect(try kept(fixture) == [Path.name(of: lease.directory)])
        lease.end()
    }

    @Test func processesDoNotDisturbEachOther() throws {
        let fixture = try Fixture()
        try bundle(fixture)
        let program = """
            import subprocess, sys
            commands = [
                ["query", "a.zip", "SELECT name FROM fruit"],
                ["open", "a.zip", "--", "SELECT name FROM fruit"],
                ["open", "a.zip", "--", "UPDATE fruit SET name = 'pear'; SELECT 'apple'"],
            ]
            children = [subprocess.Popen([sys.argv[1], *command], stderr=subprocess.DEVNULL)
                        for _ in range(8) for command in commands]
            print(sum(child.wait() for child in children))
            """
        let outcome = try Program.run(
            "/usr/bin/env", ["python3", "-c", program, Program.tool],
            environment: environment(fixture), directory: fixture.directory)
        let lines = outcome.output.split(whereSeparator: \.isNewline)
        #expect(lines.filter { $0 == "apple" }.count == 24, "\(outcome)")
        #expect(lines.count == 33 && lines.contains("0"))
        #expect(query(fixture).output == "name\r\napple\r\n")
        #expect(try kept(fixture).allSatisfy { $0.hasSuffix(".sqlite") })
    }
}
