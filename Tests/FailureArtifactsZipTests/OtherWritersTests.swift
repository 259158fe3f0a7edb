import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

/// Reading archives written by other programs.
@Suite struct OtherWritersTests {
    /// A shell command that writes `../a.zip` from a directory with the files below.
    static let commands = [
        "python3 -m zipfile -c ../a.zip text noise empty 果物",
        python("z = Z('../a.zip', 'w')", "for n in names: z.write(n)"),
        python("z = Z('../a.zip', 'w', 8)", "for n in names: z.write(n)"),
        python(
            "class Pipe:", " def write(s, b): return sys.stdout.buffer.write(b)",
            " def flush(s): sys.stdout.buffer.flush()", "z = Z(Pipe(), 'w', 8)",
            "for n in names: z.write(n)", "z.close()") + " > ../a.zip",
        python(
            "z = Z('../a.zip', 'w', 8)",
            "for n in names:",
            " with z.open(n, 'w', force_zip64=True) as f: f.write(open(n, 'rb').read())"),
        python("z = Z('../a.zip', 'w')", "for n in names: z.write(n)", "z.comment = b'PK' * 32767"),
        "zip -q ../a.zip *", "zip -q0 ../a.zip *", "zip -q9 ../a.zip *", "zip -qfd ../a.zip *",
        "zip -qfz ../a.zip *", "zip -q - * | cat > ../a.zip", "zip -qfz- - * | cat > ../a.zip",
        "zip -qUN=UTF8 ../a.zip *", "zip -qr ../a.zip .",
        "bsdtar -cf ../a.zip --format zip *",
        "bsdtar -cf ../a.zip --format zip --options zip:compression=store *",
        "bsdtar -cf ../a.zip --format zip --options zip:zip64 *",
    ]

    static let files: [String: [UInt8]] = [
        "text": Array(String(repeating: "a line of text\n", count: 50_000).utf8),
        "noise": noise(300_000),
        "empty": [], "果物": [1, 2, 3],
    ]

    private static func python(_ lines: String...) -> String {
        let head = ["import os, sys, zipfile", "names = os.listdir('.')", "Z = zipfile.ZipFile"]
        return "python3 -c \"" + (head + lines).joined(separator: "\n") + "\""
    }

    @Test(arguments: commands) func isRead(command: String) throws {
        try withTemporaryDirectory { directory in
            let input = directory + "/in"
            try FileSystem.createDirectory(input)
            for (name, bytes) in Self.files {
                try FileSystem.write(bytes, toNewFile: input + "/" + name)
            }
            let finished = try run(["sh", "-c", command], in: input)
            #expect(finished.status == 0, "\(finished.output)")
            #expect(try readArchive(directory + "/a.zip") == Self.files)
        }
    }

    /// Numbers of entries and offsets that need records of ZIP64.
    ///
    /// A hole in the file makes offsets large.
    @Test func largeNumbersAreRead() throws {
        try withTemporaryDirectory { directory in
            let program = """
                import zipfile
                with zipfile.ZipFile('many.zip', 'w') as z:
                    for n in range(70000): z.writestr(str(n), b'')
                with open('hole.zip', 'wb') as f, zipfile.ZipFile(f, 'w') as z:
                    z.writestr('a', b'before')
                    z.start_dir = 5000000000
                    z.writestr('b', b'behind')
                """
            let finished = try run(["python3", "-c", program], in: directory)
            #expect(finished.status == 0, "\(finished.output)")
            #expect(try ZipArchive(path: directory + "/many.zip").entries.count == 70_000)
            #expect(
                try readArchive(directory + "/hole.zip")
                    == ["a": Array("before".utf8), "b": Array("behind".utf8)])
        }
    }

    @Test func aStreamFromStandardInputIsRead() throws {
        try withTemporaryDirectory { directory in
            let command =
                "yes line | head -n 100000 | zip -q a.zip - && yes line | head -n 100000 | cksum"
            let finished = try run(["sh", "-c", command], in: directory)
            #expect(finished.status == 0, "\(finished.output)")
            let content = Array(String(repeating: "line\n", count: 100_000).utf8)
            #expect(try readArchive(directory + "/a.zip") == ["-": content])
        }
    }

    @Test func directoriesAreListed() throws {
        try withTemporaryDirectory { directory in
            let command = "mkdir -p in/d/e && echo 1 > in/d/e/f && cd in && zip -qr ../a.zip d"
            #expect(try run(["sh", "-c", command], in: directory).status == 0)
            let archive = try ZipArchive(path: directory + "/a.zip")
            #expect(archive.entries.map(\.name) == ["d/", "d/e/", "d/e/f"])
            #expect(archive.entries.map(\.isDirectory) == [true, true, false])
            let error = #expect(throws: ZipError.self) { try archive.read(archive.entries[0]) { _ in } }
            #expect(error?.reason == .noSuchEntry)
        }
    }
}
