internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

struct MergeCommand: Command {
    static let syntax = Syntax(
        command: "merge",
        summary: "Put the bundles of several places into one directory, with one report",
        positionals: [.neededPaths],
        options: [
            .output(
                "The directory. It is created if it doesn't exist; its content stays.", value: "DIR",
                isRequired: true),
            .json("Print a JSON object: directory, bundles, added, renamed, identical, report."),
        ],
        discussion: """
            Bundles are never overwritten. If two have the same name, the second gets another random part. A \
            bundle that the directory already contains, byte for byte, is not added again. So you can repeat a merge, \
            and add more bundles later. The report is \(Report.fileName) in that directory.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        guard let directory = arguments.value(of: "--output") else {
            throw Self.syntax.usageError("'merge' needs a directory: -o DIR.")
        }
        try checkPaths(outside: directory)
        try prepare(directory)
        // Bundles have their final names when they are complete.
        let workspace = try FileSystem.createUniqueDirectory(in: directory, prefix: ".merging-")
        console.interruption.add(directory: workspace)
        defer {
            try? FileSystem.remove(workspace)
            console.interruption.remove(directory: workspace)
        }
        var counts = Counts(directory: directory, report: Path.join(directory, Report.fileName))
        let code = try console.withScratchDirectory { scratch in
            try add(from: workspace, to: directory, &counts, scratch, console)
        }
        if counts.added + counts.identical == 0, code != .done { return code }
        let written = try console.writeReport(
            of: [directory], beside: counts.report, isPart: code != .done
        ) {
            counts.bundles = $0
            try console.output.writeLine(isJSON ? JSONText.line(counts) : counts.text)
        }
        return code == .done ? written : code
    }

    /// Rejects paths inside the target directory, whose bundles would be copied twice.
    private func checkPaths(outside directory: String) throws {
        guard let target = FileSystem.realPath(of: directory) else { return }
        for path in arguments.positionals {
            guard let source = FileSystem.realPath(of: path) else { continue }
            if source == target || source.hasPrefix(target + "/") {
                throw CommandError(
                    .usage,
                    "'\(path)' is in '\(directory)' already. Leave it out, or name another directory with "
                        + "-o.")
            }
        }
    }

    /// Creates the directory if it is missing, with a file that makes git ignore the bundles.
    private func prepare(_ directory: String) throws {
        guard let status = try FileSystem.status(of: directory) else {
            try WholeFile.checkDirectory(directory)
            return try ArtifactsDirectory(path: directory).prepare()
        }
        guard status.kind == .directory else {
            throw CommandError(
                .usage, "'\(directory)' is a file, and the bundles need a directory: choose one with -o."
            )
        }
    }

    /// Adds the bundles that the arguments name to the directory.
    private func add(
        from workspace: String, to directory: String, _ counts: inout Counts, _ scratch: String,
        _ console: Console
    ) throws -> ExitCode {
        let target = FileSystem.realPath(of: directory)
        return try console.readBundles(at: arguments.positionals, scratch: scratch) {
            location, archive, bytes -> Incoming? in
            // A source directory may contain the target directory.
            let folder = Path.directory(of: location.path)
            if let target, FileSystem.realPath(of: folder) == target { return nil }
            _ = try BundleReader(location, archive: archive).metadata
            let file = Path.join(workspace, String(UInt64.random(in: 0 ... .max), radix: 16))
            try location.copy(toNewFile: file)
            return Incoming(file: file, name: location.name, number: Self.number(for: archive, bytes))
        } _: { incoming in
            if let incoming { try place(incoming, &counts) }
        }
    }

    private struct Incoming: Sendable {
        let file: String
        let name: String
        /// The number that replaces the random part of the name if another bundle has that name.
        let number: UInt32
    }

    /// Moves a bundle to its final name; removes it if the directory has it already.
    private func place(_ bundle: Incoming, _ counts: inout Counts) throws(SystemError) {
        let name = Self.safeName(bundle.name)
        var candidate = name
        var number = bundle.number
        while true {
            let path = Path.join(counts.directory, candidate)
            do {
                try FileSystem.renameExclusively(bundle.file, to: path)
                break
            } catch  where error.isAlreadyExists {
                if try FileSystem.hasSameContent(File(reading: bundle.file), File(reading: path)) {
                    counts.identical += 1
                    return try FileSystem.remove(bundle.file)
                }
                candidate = Self.name(name, with: number)
                number &+= 1
            }
        }
        counts.added += 1
        if candidate != bundle.name { counts.renamed += 1 }
    }

    /// Returns a number that is the same whenever the same bundle is merged, and usually differs between bundles.
    private static func number(for archive: ZipArchive, _ bytes: UInt64) -> UInt32 {
        var hash = FNV1a()
        for entry in archive.entries {
            hash.add(entry.name.utf8)
            withUnsafeBytes(of: entry.crc32.littleEndian) { hash.add($0) }
        }
        return UInt32(truncatingIfNeeded: hash.value ^ (hash.value >> 32) ^ bytes)
    }

    /// Returns a name that is valid on every file system, because names inside other zips may contain anything.
    private static func safeName(_ name: String) -> String {
        let stem = BundleLocator.isZipName(name) ? String(name.dropLast(4)) : name
        return SafeName.make(from: stem, maximumBytes: 196) + ".zip"
    }

    /// Returns `Suite.test-0000002a.zip` for `Suite.test-1a2b3c4d.zip` and 42.
    static func name(_ name: String, with number: UInt32) -> String {
        var stem = Path.stem(of: name)
        let random = stem.suffix(9)
        if random.first == "-", random.dropFirst().allSatisfy(\.isHexDigit) { stem.removeLast(9) }
        let digits = String(number, radix: 16)
        return SafeName.make(from: stem, maximumBytes: 187) + "-"
            + String(repeating: "0", count: 8 - digits.count) + digits + ".zip"
    }

    private struct Counts: Encodable {
        let directory: String
        var bundles = 0
        var added = 0
        var renamed = 0
        var identical = 0
        let report: String

        var text: String {
            var facts = ["\(added) added"]
            if renamed > 0 { facts.append("\(renamed) of them under another name") }
            if identical > 0 { facts.append("\(identical) there already") }
            return SafeText.line(
                "\(directory): \(Counted.items(Int64(bundles), "bundle")), "
                    + facts.joined(separator: ", "))
                + "\n" + SafeText.line(report)
        }
    }
}
