internal import FailureArtifactsAnalysis

/// What `prune` leaves: all limits that are given hold.
struct PruneLimits: Sendable {
    var bundles: Int?
    /// Seconds.
    var age: Double?
    var totalBytes: UInt64?

    static let options = [
        Syntax.Option(
            "--max-bundles", value: "N", help: "Keep so many bundles at most, the newest ones."),
        Syntax.Option(
            "--max-age", value: "D", help: "Keep what is not older than that: 90m, 12h, 30d."),
        Syntax.Option(
            "--max-total-bytes", value: "BYTES",
            help:
                "Keep the newest bundles that have so many bytes at most together: 500000000, or 64KB, "
                + "500MB, 2GB, in steps of 1,024."),
    ]

    init(bundles: Int? = nil, age: Double? = nil, totalBytes: UInt64? = nil) {
        self.bundles = bundles
        self.age = age
        self.totalBytes = totalBytes
    }

    /// - Throws: A usage error for a value that makes no sense, or where there is none at all.
    init(_ arguments: ParsedArguments, _ syntax: Syntax) throws(CommandError) {
        if let text = arguments.value(of: "--max-bundles") {
            guard let number = Int(text), number >= 0, text.first != "+" else {
                throw syntax.usageError("'\(text)' is no number of bundles for '--max-bundles'.")
            }
            bundles = number
        }
        if let text = arguments.value(of: "--max-age") {
            guard let age = DurationText.age(text) else {
                throw syntax.usageError(
                    "'\(text)' is no age for '--max-age': it is written 90m, 12h or 30d, with its unit.")
            }
            self.age = age
        }
        if let text = arguments.value(of: "--max-total-bytes") {
            guard let bytes = SizeText.bytes(text) else {
                throw syntax.usageError(
                    "'\(text)' is no size for '--max-total-bytes': it is written 500000000, 64KB, 500MB or "
                        + "2GB.")
            }
            totalBytes = bytes
        }
        guard bundles != nil || age != nil || totalBytes != nil else {
            throw syntax.usageError(
                "'prune' has to be told what to keep: give '--max-bundles', '--max-age' or "
                    + "'--max-total-bytes'.")
        }
    }

    /// Whether so many bundles of so many bytes may stay.
    func allow(bundles count: Int, bytes: UInt64) -> Bool {
        count <= bundles ?? .max && bytes <= totalBytes ?? .max
    }

    /// The date, in milliseconds since 1970, before which bundles are too old.
    func start(at now: Int64) -> Int64 { age.map { now - Int64($0 * 1000) } ?? .min }
}
