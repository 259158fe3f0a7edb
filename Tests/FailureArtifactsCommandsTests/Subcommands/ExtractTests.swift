import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct ExtractTests {
    @Test func theFilesInADirectoryOfTheBundlesName() throws {
        let fixture = try Fixture()
        try fixture.ledger("in/a.b-1a2b3c4d.zip")
        let outcome = try Program.tool("extract", "in", directory: fixture.directory)
        #expect(
            outcome
                == Outcome(
                    status: 0,
                    output: """
                        a.b-1a2b3c4d/metadata.json
                        a.b-1a2b3c4d/stores/ledger.sqlite
                        a.b-1a2b3c4d/stores/ledger.committed.sqlite
                        a.b-1a2b3c4d/attachments/request.txt
                        a.b-1a2b3c4d/README.txt

                        """, error: ""))
        let unpacked = try Program.run(
            "/usr/bin/unzip", ["-q", "in/a.b-1a2b3c4d.zip", "-d", "unzipped"],
            directory: fixture.directory)
        #expect(unpacked.status == 0)
        let difference = try Program.run(
            "/usr/bin/env", ["diff", "-r", "a.b-1a2b3c4d", "unzipped"], directory: fixture.directory)
        #expect(difference == Outcome(status: 0, output: "", error: ""))
        let again = try Program.tool("extract", "in", directory: fixture.directory)
        #expect(again.status == 64)
        #expect(
            again.error
                == "error: 'a.b-1a2b3c4d' is not empty, and nothing in it is to be written over: empty it, or "
                + "choose another directory with -o.\n")
    }

    @Test func aDirectoryOfOnesOwn() throws {
        let fixture = try Fixture()
        let bundle = try fixture.plain("a.zip")
        let directory = fixture.path("x/y")
        let outcome = run("extract", bundle, "-o", directory, "--json")
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("{\"bytes\":"))
        #expect(outcome.output.hasSuffix(",\"path\":\"\(directory)/metadata.json\"}\n"))
        let file = run("extract", bundle, "--output", bundle)
        #expect(file.status == 64)
        #expect(file.error.contains("is a file"))
        #expect(run("extract", bundle, "-o", "").status == 64)
    }

    @Test(arguments: ["../out.txt", "/tmp/fa-out.txt", "a/../../out.txt"])
    func nothingGetsOutside(_ name: String) throws {
        let fixture = try Fixture()
        try fixture.write(Array(Metadata.plain(test: "t", message: "m").utf8), to: "m")
        try fixture.write([1], to: "x")
        let bundle = try fixture.pythonZip(
            "a.zip", stored: false, [("metadata.json", "m"), ("placeholder", "x")])
        // zipfile's write() would normalise the name.
        let made = try Program.run(
            "/usr/bin/env",
            [
                "python3", "-c",
                """
                import sys, zipfile
                with zipfile.ZipFile(sys.argv[1], "a") as archive: archive.writestr(sys.argv[2], "out")
                """, bundle, name,
            ])
        try #require(made.status == 0)
        let outcome = run("extract", bundle, "-o", fixture.path("in/side"))
        // Python drops the first slash of an absolute name.
        #expect(outcome.status == 65 || name.hasPrefix("/"))
        #expect(try FileSystem.status(of: fixture.path("out.txt")) == nil)
        #expect(try FileSystem.status(of: fixture.path("in/out.txt")) == nil)
        #expect(try FileSystem.status(of: "/tmp/fa-out.txt") == nil)
    }
}

@Suite struct FixtureTests {
    @Test func storeAndSource() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger("a.zip")
        let directory = fixture.path("Fixtures")
        let outcome = run("extract", bundle, "--fixture", "-o", directory)
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(try FileSystem.contents(ofDirectory: directory).count == 2)
        let lines = outcome.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "\(directory)/ledger.sqlite")
        let source = try String(
            decoding: FileSystem.contents(ofFile: try #require(lines.last)), as: UTF8.self)
        #expect(source.contains("appending(path: \"ledger.sqlite\")"))
        #expect(source.contains(": StoreTestCase<SQLiteTestStore> {"))
        #expect(run("extract", bundle, "--fixture", "-o", directory).status == 64)
    }

    @Test func swiftTestingOnRequest() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger("a.zip")
        let outcome = run(
            "extract", bundle, "--fixture", "--store", "ledger.committed", "--framework", "testing",
            "-o",
            fixture.path("x"))
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(outcome.output.hasPrefix(fixture.path("x/ledger.committed.sqlite") + "\n"))
        let options = [
            ["--framework", "testing"], ["--fixture", "--framework", "nose"], ["--store", "ledger"],
        ]
        for words in options {
            #expect(run(["extract", bundle, "-o", fixture.path("y")] + words).status == 64)
        }
    }

    /// Names from a bundle stay inside comments and identifiers.
    @Test(arguments: ["*/ import Evil", "a\nimport Evil", "1\"; \\(evil)", "", "…"])
    func hostileNames(_ name: String) {
        for framework in FixtureTest.Framework.allCases {
            let test = FixtureTest(
                framework: framework, storeFile: "a\"\\(evil).sqlite",
                test: .init(framework: "XCTest", suite: name, name: name, arguments: nil, attempt: 1),
                failure: nil, state: name)
            let lines = test.source.split(separator: "\n").map(String.init)
            #expect(lines.filter { $0.contains("import Evil") }.allSatisfy { $0.hasPrefix("/// ") })
            #expect(lines.filter { $0.hasPrefix("import ") }.count == 3)
            #expect(test.source.contains(#""a\"\\(evil).sqlite""#))
            #expect(!test.fileName.contains("/") && !test.typeName.contains(" "))
        }
    }
}
