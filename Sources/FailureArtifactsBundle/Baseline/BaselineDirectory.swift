internal import CFailureArtifactsShared
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
        BaselineFile(at: file(of: test)).baselines
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
        /// See ``BaselineFile/Version/statements``.
        package let statements: [UInt8]
        /// The return addresses of each stack, by the numbers in the statements.
        package let stacks: [[UInt64]]

        package init(_ test: BundleMetadata.Test, at: Timestamp, statements: [UInt8], stacks: [[UInt64]])
        {
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
    package func record(
        _ tests: [PassedTest], of commit: String?, in images: LoadedImages, by symbolizer: Symbolizer?
    ) {
        let imageHash = images.hash
        var news: [(PassedTest, file: BaselineFile, hashes: [UInt64])] = []
        for test in tests {
            let old = BaselineFile(at: file(of: test.test))
            if let last = old.versions.first, last.statements == test.statements,
                last.description.images == imageHash,
                symbolizer == nil || last.description.stacks.allSatisfy({ $0.lines != nil })
            {
                _ = utimes(file(of: test.test), nil)
            } else {
                news.append((test, old, test.stacks.map { images.hash(of: $0) }))
            }
        }
        if news.isEmpty { return }
        var known: [UInt64: [StatementRecord.Source]] = [:]
        for version in news.flatMap(\.file.versions) where version.description.images == imageHash {
            for stack in version.description.stacks { known[stack.hash] = stack.lines }
        }
        var unknown: [UInt64: [UInt64]] = [:]
        for (test, _, hashes) in news {
            for (stack, hash) in zip(test.stacks, hashes) where known[hash] == nil {
                unknown[hash] = stack
            }
        }
        do throws(SystemError) {
            try FileSystem.createDirectory(path)
            if let symbolizer, !unknown.isEmpty {
                let scratch = try FileSystem.createUniqueDirectory(in: path, prefix: "lines-")
                var sources = StatementSources(
                    of: Array(unknown.values), in: images, failureFile: nil, by: symbolizer,
                    scratch: scratch)
                for (hash, stack) in unknown { known[hash] = sources.lines(of: stack) }
                try? FileSystem.remove(scratch)
            }
        } catch {
            return
        }
        for (test, old, hashes) in news {
            let version = BaselineFile.Version(
                description: .init(
                    at: test.at.nanoseconds, commit: commit, images: imageHash,
                    stacks: hashes.map { .init(hash: $0, lines: known[$0]) }),
                statements: test.statements)
            // The versions are distinct: lines that have moved make no other one.
            let others = old.versions.filter { $0.statements != test.statements }
            try? BaselineFile(versions: [version] + others).write(to: file(of: test.test))
        }
        limitSize()
    }
}

extension LoadedImages {
    /// The hash of what the images are.
    fileprivate var hash: UInt64 {
        var hash = FNV1a()
        for image in images where !image.isOfToolchain {
            hash.add("\(image.path) \(image.modified ?? 0)\n".utf8)
        }
        return hash.value
    }

    /// Returns the hash of a stack, which is the same in each process with these images.
    fileprivate func hash(of stack: [UInt64]) -> UInt64 {
        var hash = FNV1a()
        for address in stack {
            let relative = image(ofCallBefore: address).map { address &- $0.base } ?? 0
            withUnsafeBytes(of: relative) { hash.add($0) }
        }
        return hash.value
    }
}
