package import FailureArtifactsSystem

/// The directory with the baselines of a package's tests: a file for each test, see ``BaselineFile``.
///
/// Processes that run at the same time never wait for each other: a file is replaced as a whole.
package struct BaselineDirectory: Sendable {
    /// The maximum size of all files, in bytes; those of the tests that passed least recently are removed.
    private static let maximumBytes: UInt64 = 32 << 20

    package let path: String

    package init(_ path: String) { self.path = path }

    /// The directory for a package: below its build directory if that exists, so that no new file is in the working
    /// tree, and otherwise in the user's directory for caches.
    ///
    /// Nil without both.
    package static func standard(workingDirectory: String, variables: [String: String])
        -> BaselineDirectory?
    {
        let build = Path.join(workingDirectory, ".build")
        if (try? FileSystem.status(of: build))?.kind == .directory {
            return BaselineDirectory(Path.join(build, "failure-artifacts-baseline"))
        }
        guard let caches = ProcessEnvironment.cacheDirectory(of: variables) else { return nil }
        var hash = FNV1a()
        // Under Xcode the working directory is `/`.
        let package =
            workingDirectory == "/" ? ProcessEnvironment.arguments.first ?? "/" : workingDirectory
        hash.add(package.utf8)
        return BaselineDirectory(
            Path.join(caches, "failure-artifacts/baseline-" + String(hash.value, radix: 16)))
    }

    /// The directory for the processes of a command, by their environment; nil if they record no baselines.
    package static func ofCommand(
        workingDirectory: String, variables: [String: String]
    ) -> BaselineDirectory? {
        switch variables[variable] ?? "" {
        case "off": nil
        case "", "on": standard(workingDirectory: workingDirectory, variables: variables)
        case let path: BaselineDirectory(Path.join(workingDirectory, path))
        }
    }

    /// The environment variable that turns baselines off, or names their directory.
    package static let variable = "FAILURE_ARTIFACTS_BASELINE"

    private func file(of test: BundleMetadata.Test) -> String {
        Path.join(path, BaselineFile.name(of: test))
    }

    /// The file with the failures of a test, see ``FailureRecord``.
    func failures(of test: BundleMetadata.Test) -> String {
        BaselineFile.failures(beside: file(of: test))
    }

    /// Reads the passing runs of a test, the newest one first; empty without a valid file.
    ///
    /// - `images`: the images of the failing process; nil if unknown.
    package func baselines(of test: BundleMetadata.Test, in images: LoadedImages?) -> [Baseline] {
        let build = images.map { LinesOfStacks(in: $0).hashOfImages }
        var baselines = BaselineFile(at: file(of: test)).runs.compactMap { Baseline($0, build: build) }
        // A test that did the same again has only changed the time of its file.
        if let status = FileSystem.regularFile(file(of: test)), !baselines.isEmpty {
            let last = Timestamp.description(ofNanoseconds: status.modified)
            for index in baselines[0].statements.indices { baselines[0].statements[index].at = last }
            baselines[0].at = last
        }
        return baselines
    }

    /// Removes what killed processes have left, and the oldest files if all are too large together.
    ///
    /// The directory may be the user's own, with other files.
    private func cleanUp() {
        let names = (try? FileSystem.contents(ofDirectory: path)) ?? []
        for name in names where BaselineFile.isPartialName(name) || Self.isScratch(name) {
            let place = Path.join(path, name)
            // No process works on one for so long.
            if let status = try? FileSystem.statusWithoutFollowing(place),
                status.modified < Timestamp.now.nanoseconds - Self.maximumAge
            {
                try? FileSystem.remove(place)
            }
        }
        let own = names.filter { BaselineFile.isName($0) || BaselineFile.isNameOfFailures($0) }
        let files = own.compactMap { name in
            FileSystem.regularFile(Path.join(path, name)).map { (name, status: $0) }
        }
        var size = files.reduce(0) { $0 + $1.status.size }
        guard size > Self.maximumBytes else { return }
        for (name, status) in files.sorted(by: { $0.status.modified < $1.status.modified })
        where size > Self.maximumBytes {
            try? FileSystem.remove(Path.join(path, name))
            size -= status.size
        }
    }

    /// The age after which scratch files are left ones, in nanoseconds: an hour.
    private static let maximumAge: Int64 = 3_600_000_000_000

    private static let scratchPrefix = "failure-artifacts-lines-"

    /// True for the name of a directory that a process has created to look up lines, with the 6 characters of `mkdtemp`.
    private static func isScratch(_ name: String) -> Bool {
        name.hasPrefix(scratchPrefix) && name.utf8.count == scratchPrefix.utf8.count + 6
    }
}

extension BaselineDirectory {
    /// A test that has passed.
    package struct PassedTest: Sendable {
        package let test: BundleMetadata.Test
        package let at: Timestamp
        /// The chunks of the connections, as `failure_artifacts_baseline_take` returns them.
        package let statements: [UInt8]
        /// The stacks' numbers in the process, by the numbers in the statements.
        package let stacks: [UInt32]

        package init(_ test: BundleMetadata.Test, at: Timestamp, statements: [UInt8], stacks: [UInt32]) {
            self.test = test
            self.at = at
            self.statements = statements
            self.stacks = stacks
        }
    }

    /// Writes the files of tests that did something else than in their last passing run, and notes the time of the others;
    /// notes, too, that tests have passed after a failure.
    ///
    /// Without a symbolizer, statements whose lines no earlier run has found have none. A test whose file can't be written
    /// has no new baseline.
    ///
    /// - `addresses`: returns the return addresses of a stack.
    package func record(
        _ tests: [PassedTest], of commit: String?, in images: LoadedImages, by symbolizer: Symbolizer?,
        addresses: (UInt32) -> [UInt64]
    ) {
        var lines = LinesOfStacks(in: images)
        let news = tests.filter { test in
            let identity = BaselineFile.Header.Identity(test.statements)
            let file = file(of: test.test)
            FailureRecord.notePass(
                at: test.at.description, of: .init(of: images, commit: commit),
                in: BaselineFile.failures(beside: file))
            return !BaselineFile.notePass(at: file) { header in
                header.identity == identity
                    && (symbolizer == nil || header.images == lines.hashOfImages)
            }
        }
        if news.isEmpty { return }
        var hashes: [UInt32: UInt64] = [:]
        var stacks: [UInt64: [UInt64]] = [:]
        for number in news.lazy.flatMap(\.stacks) where hashes[number] == nil {
            let stack = addresses(number)
            let hash = lines.hash(of: stack)
            hashes[number] = hash
            stacks[hash] = stack
        }
        guard (try? FileSystem.createDirectory(path)) != nil else { return }
        let files = news.map { BaselineFile(at: file(of: $0.test)) }
        for run in files.flatMap(\.runs) where run.header.images == lines.hashOfImages {
            if let content = run.content { lines.add(content.description.stacks) }
        }
        if let symbolizer { lookUp(stacks, in: &lines, by: symbolizer) }
        for (test, old) in zip(news, files) {
            let description = BaselineFile.Description(
                at: test.at.nanoseconds, commit: commit ?? "", images: lines.hashOfImages,
                program: lines.program?.path ?? "", modified: lines.program?.modified ?? 0,
                stacks: test.stacks.map { number in
                    let hash = hashes[number] ?? 0
                    return lines.text(of: hash, stacks[hash] ?? [])
                })
            let run = BaselineFile.PassingRun(
                description, test.statements, hasLines: symbolizer != nil)
            guard let run else { continue }
            // The runs are distinct: lines that have moved make no other one.
            let others = old.runs.filter { $0.header.identity != run.header.identity }
            try? BaselineFile(runs: [run] + others).write(to: file(of: test.test))
        }
        cleanUp()
    }

    /// Counts, for each part of a statement, the tests that passed and differ in it from their run before the program was
    /// built.
    ///
    /// - `tests`: tests that passed and are not recorded yet. The others are those whose file has a run with these images.
    /// - `known`: the times of the last changes of the files that were read, by their names, and the largest number for
    ///   those of tests that are counted already. A file is read again only if it has changed.
    package func countDifferences(
        of tests: [PassedTest], in images: LoadedImages, _ counts: inout [CommonDifference: Int],
        _ known: inout [String: Int64]
    ) {
        let build = LinesOfStacks(in: images).hashOfImages
        let new = Dictionary(
            tests.map { (BaselineFile.name(of: $0.test), $0.statements) }, uniquingKeysWith: { $1 })
        let others = ((try? FileSystem.contents(ofDirectory: path)) ?? []).filter { new[$0] == nil }
        func modified(_ name: String) -> Int64? {
            FileSystem.regularFile(Path.join(path, name))?.modified
        }
        // Most files may be of tests that haven't run yet.
        let seen = known
        let names = (new.keys.sorted() + others.filter(BaselineFile.isName)).lazy.filter { name in
            seen[name].map { $0 != .max && (new[name] != nil || $0 != modified(name)) } ?? true
        }
        for name in names.prefix(Self.maximumCompared) {
            known[name] = modified(name)
            let runs = BaselineFile(at: Path.join(path, name)).runs
            let ofBuild = runs.first?.content.map { $0.description.images == build } ?? false
            let after = new[name]?[...] ?? (ofBuild ? runs.first?.content?.statements : nil)
            guard let after else { continue }
            known[name] = .max
            guard let before = (ofBuild ? runs.dropFirst().first : runs.first)?.content,
                before.description.images != build
            else { continue }
            let differences = CommonDifference.all(
                from: Self.records(before.statements), to: Self.records(after))
            for difference in differences { counts[difference, default: 0] += 1 }
        }
    }

    /// The maximum number of tests that are compared at once.
    private static let maximumCompared = 200

    private static func records(_ statements: ArraySlice<UInt8>) -> [StatementRecord] {
        Baseline.chunks(in: statements).flatMap { [$0].statements(before: nil) }.merged().map(\.record)
    }

    private func lookUp(
        _ stacks: [UInt64: [UInt64]], in lines: inout LinesOfStacks, by symbolizer: Symbolizer
    ) {
        guard let scratch = try? FileSystem.createUniqueDirectory(in: path, prefix: Self.scratchPrefix)
        else {
            return
        }
        lines.lookUp(stacks, by: symbolizer, scratch: scratch)
        try? FileSystem.remove(scratch)
    }

    /// Looks up the lines that parallel processes have not looked up, while their programs are unchanged.
    package func completeLines(workingDirectory: String, by symbolizer: Symbolizer) {
        let names = (try? FileSystem.contents(ofDirectory: path)) ?? []
        let files = names.map { name in
            (path: Path.join(path, name), file: BaselineFile(at: Path.join(path, name)))
        }.filter { $0.file.runs.first?.header.images == 0 }
        let contents = files.map { $0.file.runs[0].content }
        let programs = Dictionary(
            grouping: contents.compactMap { $0?.description }, by: { "\($0.program) \($0.modified)" })
        var linesOfPrograms: [String: LinesOfStacks] = [:]
        for (program, descriptions) in programs {
            let image = LoadedImage(
                path: descriptions[0].program, base: 0, start: 0, end: .max,
                modified: descriptions[0].modified)
            guard image.isUnchanged else { continue }
            var lines = LinesOfStacks(
                in: LoadedImages(images: [image], workingDirectory: workingDirectory))
            let unknown = descriptions.flatMap(\.stacks).compactMap(LinesOfStacks.unknown)
            lookUp(
                Dictionary(unknown.map { ($0.hash, $0.stack) }, uniquingKeysWith: { a, _ in a }),
                in: &lines,
                by: symbolizer)
            linesOfPrograms[program] = lines
        }
        for ((path, file), content) in zip(files, contents) {
            guard let (old, statements) = content,
                let lines = linesOfPrograms["\(old.program) \(old.modified)"]
            else { continue }
            var description = old
            description.stacks = description.stacks.map { text in
                LinesOfStacks.unknown(in: text).map { lines.text(of: $0.hash, $0.stack) } ?? text
            }
            guard let run = BaselineFile.PassingRun(description, statements, hasLines: true) else {
                continue
            }
            try? BaselineFile(runs: [run] + file.runs.dropFirst()).write(to: path)
        }
    }
}
