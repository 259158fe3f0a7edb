internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The occurrences of a failure, in the file of its test beside the test's baseline.
///
/// The test process adds a failure when it makes the bundle. A process in which the test passes reads the file only if there
/// is one. A file is replaced as a whole, so of two processes at the same time, the occurrence of one may not be counted.
struct FailureRecord: Codable {
    /// The maximum number of a test's failures that are remembered: those that occurred last.
    private static let maximumFailures = 20

    /// The state of the code in a run.
    struct Code: Codable {
        /// The hash of what the images of the process were.
        var build: UInt64
        /// The commit that was checked out; absent if it isn't known.
        var commit: String?

        /// Describes the code of a process.
        init(of images: LoadedImages, commit: String?) {
            build = LinesOfStacks(in: images).hashOfImages
            self.commit = commit
        }

        /// True if it is the same build, or the same commit on a CI, which checks it out without other changes.
        func isSame(
            as other: Code, variables: [String: String] = ProcessEnvironment.variables
        ) -> Bool {
            build == other.build
                || commit != nil && commit == other.commit && RunEnvironment.isService(variables)
        }
    }

    var fingerprint: String
    var seen: BundleMetadata.SeenBefore
    /// The time and the code of the last occurrence.
    var lastAt: String
    var lastCode: Code
    /// True if the test has passed since the last occurrence.
    var hasPassedSince = false

    /// Adds an occurrence to a test's file, and returns those before it; nil if it is the first one.
    static func add(
        _ fingerprint: String, at: String, of code: Code, to path: String
    ) -> BundleMetadata.SeenBefore? {
        let records = all(at: path)
        let known = records.first { $0.fingerprint == fingerprint }
        var seen =
            known?.seen
            ?? BundleMetadata.SeenBefore(count: 0, at: at, commit: code.commit, passedOnRetry: 0)
        // A bundle that could not be published is made again.
        if let known, known.lastAt == at { seen.count -= 1 }
        let before = seen
        seen.count += 1
        let record = FailureRecord(
            fingerprint: fingerprint, seen: seen, lastAt: at, lastCode: code)
        let others = records.filter { $0.fingerprint != fingerprint }.prefix(maximumFailures - 1)
        write([record] + others, to: path)
        return before.count > 0 ? before : nil
    }

    /// Notes in a test's file, if there is one, that the test has passed.
    static func notePass(at: String, of code: @autoclosure () -> Code, in path: String) {
        guard FileSystem.regularFile(path) != nil else { return }
        var records = all(at: path)
        let open = records.indices.filter { !records[$0].hasPassedSince && records[$0].lastAt < at }
        if open.isEmpty { return }
        let code = code()
        for index in open {
            records[index].hasPassedSince = true
            if records[index].lastCode.isSame(as: code) { records[index].seen.passedOnRetry += 1 }
        }
        write(records, to: path)
    }

    /// Reads a file; empty if it is missing or invalid.
    private static func all(at path: String) -> [FailureRecord] {
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: 64 << 10) else { return [] }
        return (try? JSONDecoder().decode([FailureRecord].self, from: Data(bytes))) ?? []
    }

    private static func write(_ records: [FailureRecord], to path: String) {
        guard let data = try? JSONEncoder().encode(records) else { return }
        try? BaselineFile.replace(path, with: Array(data))
    }
}

extension BundleMetadata {
    /// The earlier occurrences of a failure.
    package struct SeenBefore: Codable, Equatable, Sendable {
        /// Their number, at least 1.
        package var count: Int
        /// The time of the first one.
        package var at: String
        /// The commit of the first one; absent if it isn't known.
        package var commit: String?
        /// The number of those after which the same code passed.
        package var passedOnRetry: Int

        package init(count: Int, at: String, commit: String?, passedOnRetry: Int) {
            self.count = count
            self.at = at
            self.commit = commit
            self.passedOnRetry = passedOnRetry
        }
    }
}

extension BaselineDirectory {
    /// Notes that a test has failed, and returns the earlier occurrences of the failure; nil without any.
    ///
    /// - `images`: the images of the failing process.
    /// - `commit`: the commit that they were built from; nil if it isn't known.
    package func noteFailure(
        of test: BundleMetadata.Test, _ fingerprint: String, at: String, in images: LoadedImages,
        commit: String?
    ) -> BundleMetadata.SeenBefore? {
        guard (try? FileSystem.createDirectory(path)) != nil else { return nil }
        return FailureRecord.add(
            fingerprint, at: at, of: .init(of: images, commit: commit), to: failures(of: test))
    }
}
