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
    /// Nil if there is none of these.
    package static func standard(workingDirectory: String, variables: [String: String])
        -> BaselineDirectory?
    {
        let build = Path.join(workingDirectory, ".build")
        if (try? FileSystem.status(of: build))?.kind == .directory {
            return BaselineDirectory(Path.join(build, "failure-artifacts-baseline"))
        }
        let home = variables["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        #if os(Linux)
        let cache = variables["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        guard let caches = cache ?? home.map({ Path.join($0, ".cache") }) else { return nil }
        #else
        guard let caches = home.map({ Path.join($0, "Library/Caches") }) else { return nil }
        #endif
        var hash = FNV1a()
        // Under Xcode the working directory is `/`.
        let package =
            workingDirectory == "/" ? ProcessEnvironment.arguments.first ?? "/" : workingDirectory
        hash.add(package.utf8)
        return BaselineDirectory(
            Path.join(caches, "failure-artifacts/baseline-" + String(hash.value, radix: 16)))
    }

    private func file(of test: BundleMetadata.Test) -> String {
        Path.join(path, BaselineFile.name(of: test))
    }

    /// Reads the passing runs of a test, the newest one first; empty without a valid file.
    package func baselines(of test: BundleMetadata.Test) -> [Baseline] {
        BaselineFile(at: file(of: test)).versions.compactMap(Baseline.init)
    }

    /// Removes the oldest files if there are too many.
    private func limitSize() {
        let files = ((try? FileSystem.contents(ofDirectory: path)) ?? []).compactMap { name in
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

    /// Writes the files of tests that did something else than in their last passing run, and notes the time of the others.
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
            return !BaselineFile.notePass(at: file(of: test.test)) { header in
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
        for version in files.flatMap(\.versions) where version.header.images == lines.hashOfImages {
            if let content = version.content {
                lines.add(version.described(by: content.description).lines)
            }
        }
        if let symbolizer,
            let scratch = try? FileSystem.createUniqueDirectory(in: path, prefix: "lines-")
        {
            lines.lookUp(stacks, by: symbolizer, scratch: scratch)
            try? FileSystem.remove(scratch)
        }
        for (test, old) in zip(news, files) {
            let version = BaselineFile.Version(
                at: test.at, commit: commit, statements: test.statements,
                lines: test.stacks.map { lines.text(of: hashes[$0] ?? 0) },
                images: symbolizer == nil ? 0 : lines.hashOfImages)
            guard let version else { continue }
            // The versions are distinct: lines that have moved make no other one.
            let others = old.versions.filter { $0.header.identity != version.header.identity }
            try? BaselineFile(versions: [version] + others).write(to: file(of: test.test))
        }
        limitSize()
    }
}
