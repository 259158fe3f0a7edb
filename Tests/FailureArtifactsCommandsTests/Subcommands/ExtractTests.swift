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
