import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Testing

/// Missing programs are reported by name.
@Suite struct NeededProgramsTests {
    @Test(arguments: [
        (["unzip", "-tq", "a.zip"], ["unzip"]),
        (["/usr/bin/env", "sqlite3", "a.db", "SELECT 'zip'"], ["sqlite3"]),
        (["sh", "-c", "yes | head -n 2 | zip -q a.zip - && bsdtar -tf a.zip"], ["bsdtar", "zip"]),
        (["/usr/bin/unzip", "a.zip"], ["unzip"]),
        (["stat", "-c", "%Y", "unzip/metadata.json"], []),
    ])
    func areNamed(commandLine: [String], programs: [String]) throws {
        #expect(missingPrograms(of: commandLine, path: "/proc") == programs)
        try withTemporaryDirectory { directory in
            for program in programs {
                let path = directory + "/" + program
                try FileSystem.write([], toNewFile: path)
                // A file that isn't executable doesn't count as a program.
                #expect(missingPrograms(of: commandLine, path: directory).contains(program))
                try FileSystem.setPermissions(0o700, of: path)
            }
            #expect(missingPrograms(of: commandLine, path: "/proc:" + directory) == [])
        }
    }
}
