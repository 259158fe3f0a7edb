internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The differences between the attempts of a test: plain values, read from their bundles.
struct AttemptComparison: Sendable {
    /// The maximum number of attempts that are compared; further ones are counted.
    private static let limit = 6

    /// A fact and its value in each attempt.
    struct Row: Sendable {
        let label: String
        /// The values by attempt; nil for an attempt without such a value.
        var values: [String?]

        var differs: Bool { Set(values).count > 1 }
    }

    /// The changes of a store from one attempt to the next.
    struct StoreChange: Sendable {
        let store: String
        let from: String
        let to: String
        let change: ChangeDetail
    }

    let titles: [String]
    /// The outcomes of the attempts, as a sentence; nil if none passed.
    let summary: String?
    /// The number of attempts that are not compared.
    let omitted: Int
    private(set) var rows: [Row] = []
    private(set) var changes: [StoreChange] = []
    /// The parts that could not be read, as full sentences.
    private(set) var notes: [String] = []

    /// Reads the bundles.
    init(reading series: AttemptSeries, scratch: String, _ limits: ReportLimits) {
        var attempts = series.attempts.prefix(Self.limit)
        // If there are many, the attempt that passed tells more than the last one that failed.
        if !attempts.contains(where: { $0.cause == nil }),
            let passed = series.attempts.first(where: { $0.cause == nil })
        {
            attempts[attempts.endIndex - 1] = passed
        }
        summary = series.summary
        titles = attempts.map(series.title)
        omitted = series.attempts.count - attempts.count
        do {
            let directory = try FileSystem.createUniqueDirectory(in: scratch, prefix: "attempts-")
            defer { try? FileSystem.remove(directory) }
            let bundles = attempts.map { attempt in
                try? BundleReader(attempt.first.location, scratchDirectory: directory)
            }
            addFacts(Array(attempts), bundles.map { $0?.metadata })
            let budget = ReadingBudget(limits, bytes: limits.changeBytes)
            for index in bundles.indices.dropLast() {
                guard let old = bundles[index], let new = bundles[index + 1] else { continue }
                compare(
                    Side(bundle: old, title: titles[index]),
                    with: Side(bundle: new, title: titles[index + 1]), scratch: directory, budget)
            }
        } catch {
            notes.append("The attempts cannot be compared. \(CommandError(error).description)")
        }
    }

    private mutating func addFacts(
        _ attempts: [AttemptSeries.Attempt], _ metadata: [BundleMetadata?]
    ) {
        func add(_ label: String, _ value: (BundleMetadata) -> String?) {
            rows.append(Row(label: label, values: metadata.map { $0.flatMap(value) }))
        }
        rows.append(Row(label: "Outcome", values: attempts.map { $0.first.outcome.label }))
        rows.append(
            Row(
                label: "Message",
                values: attempts.map { $0.cause == nil ? nil : $0.first.headline }))
        add("Place") { metadata in
            metadata.failures.first.flatMap { FailureText.place(of: $0, in: PackageRoot(metadata)) }
        }
        rows.append(Row(label: "Bundles", values: attempts.map { String($0.bundles.count) }))
        rows.append(Row(label: "From", values: attempts.map { Self.names($0.bundles) }))
        rows.append(Row(label: "Captured", values: attempts.map { MetadataTime.text($0.first.at) }))
        add("System") { "\($0.environment.operatingSystem), \($0.environment.architecture)" }
        add("Swift") { $0.environment.swift }
        add("SQLite") { $0.environment.sqlite }
        var stores: [String] = []
        for store in metadata.compactMap({ $0?.stores }).joined() where !stores.contains(store.name) {
            stores.append(store.name)
        }
        for name in stores.prefix(12) {
            func addOfStore(_ label: String, _ value: (BundleMetadata.Store) -> String?) {
                add("\(name): \(label)") { $0.stores.first { $0.name == name }.flatMap(value) }
            }
            addOfStore("journal mode") { $0.journalMode }
            addOfStore("transaction") { $0.transactionOpen.map { $0 ? "open" : "none open" } }
            addOfStore("transactions before it") { $0.history.map { String($0.transactions) } }
        }
    }

    private static func names(_ reportedBundles: [ReportedBundle]) -> String {
        let names = Set(reportedBundles.map(\.container)).sorted()
        let shown = names.prefix(3).joined(separator: ", ")
        return names.count > 3 ? "\(shown) and \(names.count - 3) more" : shown
    }

    /// An attempt with its bundle.
    private struct Side {
        let bundle: BundleReader
        let title: String
    }

    private mutating func compare(
        _ earlier: Side, with later: Side, scratch: String, _ budget: ReadingBudget
    ) {
        let limits = budget.limits
        let (old, new) = (earlier.bundle, later.bundle)
        let (from, to) = (earlier.title, later.title)
        let choices = new.metadata.storeChoices.filter { !$0.isCommitted && $0.name == $0.store.name }
        for second in choices.prefix(limits.stores) {
            let name = StoreCounterpart.name(
                of: second.name, among: new.metadata.stores.map(\.name),
                in: old.metadata.stores.map(\.name))
            let first = old.metadata.storeChoices.first { !$0.isCommitted && $0.name == name }
            guard let first else { continue }
            let isSmall = [(old, first), (new, second)].allSatisfy { bundle, choice in
                bundle.size(ofEntry: choice.entry).map { $0 <= limits.historyStoreBytes } ?? false
            }
            guard isSmall, Instant.now < budget.deadline else {
                notes.append(
                    "The store '\(second.name)' of \(from) and \(to) is not compared here: "
                        + "'failure-artifacts diff' does it.")
                continue
            }
            do {
                let a = try old.extract(first, below: scratch)
                defer { try? FileSystem.remove(Path.directory(of: a)) }
                let b = try new.extract(second, below: scratch)
                defer { try? FileSystem.remove(Path.directory(of: b)) }
                var change = try ChangeDetail(from: a, to: b, budget)
                // A few rows tell more than a table that differs in every attempt, by a key or a date.
                change.tables.sort { ($0.counts.total, $0.name) < ($1.counts.total, $1.name) }
                changes.append(StoreChange(store: second.name, from: from, to: to, change: change))
            } catch {
                notes.append(
                    "The store '\(second.name)' of \(from) and \(to) cannot be compared. "
                        + CommandError(error).description)
            }
        }
    }
}
