internal import FailureArtifactsAnalysis

/// The limits on bundles that `prune` keeps.
///
/// A kept bundle satisfies all of them.
struct PruneLimits: Sendable {
    var bundles: Int?
    /// The maximum age, in seconds.
    var age: Double?
    var totalBytes: UInt64?

    static let options = [
        Syntax.Option(
            "--max-bundles", value: "N", help: "Keep at most N bundles, the newest."),
        Syntax.Option(
            "--max-age", value: "D",
            help: "Remove bundles that are older than 90m, 12h or 30d, for example."),
        Syntax.Option(
            "--max-total-bytes", value: "BYTES",
            help:
                "Keep the newest bundles up to this total size: 500000000, 64KB, 500MB or 2GB. A KB has 1,024 "
                + "bytes."),
    ]

    init(bundles: Int? = nil, age: Double? = nil, totalBytes: UInt64? = nil) {
        self.bundles = bundles
        self.age = age
        self.totalBytes = totalBytes
    }

    /// Creates limits from a command's options.
    init(_ arguments: ParsedArguments, _ syntax: Syntax) throws(CommandError) {
        bundles = try arguments.number(of: "--max-bundles", in: 0...Int.max, syntax)
        age = try arguments.age(of: "--max-age", syntax)
        totalBytes = try arguments.size(of: "--max-total-bytes", syntax)
        guard bundles != nil || age != nil || totalBytes != nil else {
            throw syntax.usageError(
                "'prune' has to be told what to keep: give '--max-bundles', '--max-age' or "
                    + "'--max-total-bytes'.")
        }
    }

    /// True if this number of bundles with this total size is within the limits.
    func allow(bundles count: Int, bytes: UInt64) -> Bool {
        count <= bundles ?? .max && bytes <= totalBytes ?? .max
    }

    /// Returns the earliest date of bundles that may be kept, in milliseconds since 1970.
    func start(at now: Int64) -> Int64 { age.map { now - Int64($0 * 1000) } ?? .min }
}
