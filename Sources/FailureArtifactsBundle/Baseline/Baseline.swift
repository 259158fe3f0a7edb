#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The statements of a passing run of a test: a version in `baseline.jsonl`.
package struct Baseline: Equatable, Sendable {
    /// The first line of a version.
    private struct Header: Codable {
        struct Run: Codable {
            var at: String
            var commit: String?
            var common: [CommonDifference]?
            var sameBuild: Bool?
        }
        var baseline: Run
    }

    /// The name of the entry with the versions, the newest one first.
    package static let entry = "baseline.jsonl"
    /// The maximum number of versions; two show which values differ in every run.
    package static let maximumVersions = 2

    /// The time of the run, as ISO 8601 with microseconds.
    package var at: String
    /// The commit that was checked out; absent if unknown.
    package var commit: String?
    /// The statements of all connections, by their order.
    package var statements: [StatementRecord]
    /// The differences that passing tests of the failing run have from their own baselines.
    ///
    /// Only the newest version has them.
    package var common: [CommonDifference] = []
    /// True if it is known that the failing run is of the same build.
    package var isOfSameBuild = false

    package init(at: String, commit: String?, statements: [StatementRecord]) {
        self.at = at
        self.commit = commit
        self.statements = statements
    }

    /// Encodes versions as lines of JSON, each one after a line with its time and commit.
    package static func lines(of baselines: [Baseline]) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return baselines.reduce(into: []) { bytes, baseline in
            let header = Header(
                baseline: .init(
                    at: baseline.at, commit: baseline.commit,
                    common: baseline.common.isEmpty ? nil : baseline.common,
                    sameBuild: baseline.isOfSameBuild ? true : nil))
            // Encoding fails only for numbers that JSON lacks.
            guard let line = try? encoder.encode(header) else { return }
            bytes += line
            bytes.append(UInt8(ascii: "\n"))
            bytes += StatementRecord.lines(of: baseline.statements)
        }
    }

    /// Parses the lines; nil if one of them is neither a version nor a statement, or if there are too many versions.
    package static func versions(in bytes: [UInt8]) -> [Baseline]? {
        let decoder = JSONDecoder()
        var versions: [Baseline] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let data = Data(line)
            if !versions.isEmpty, let record = try? decoder.decode(StatementRecord.self, from: data) {
                versions[versions.count - 1].statements.append(record)
            } else if versions.count < maximumVersions,
                let run = (try? decoder.decode(Header.self, from: data))?.baseline
            {
                versions.append(Baseline(at: run.at, commit: run.commit, statements: []))
                versions[versions.count - 1].common = run.common ?? []
                versions[versions.count - 1].isOfSameBuild = run.sameBuild ?? false
            } else {
                return nil
            }
        }
        return versions
    }
}
