package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A kind of finding: one fact or one likely cause that is looked for in a store.
protocol FindingRule {
    static var code: Finding.Code { get }

    /// Looks for findings.
    ///
    /// - Parameters:
    ///   - store: The store. Its connection interrupts queries when the rule's time is up.
    ///   - failure: The failure, with its other stores and its message.
    /// - Returns: The findings. Their relevance is the strength of the evidence in the store itself.
    /// - Throws: An error if a query fails.
    static func findings(
        in store: StoreEvidence, of failure: FailureEvidence
    ) throws -> [Finding]
}

/// The findings about a failure, best first.
package struct Explanation: Encodable {
    package let formatVersion = "1.0"
    /// The path or file name of the bundle.
    package let bundle: String
    package let test: Test
    /// The way the test ended; not part of the JSON form.
    package let outcome: BundleMetadata.Outcome
    package let failure: Failure?
    package private(set) var findings: [Finding] = []
    /// The changes of watched files.
    package let files: [FileTree]
    /// The kinds of findings whose search ran out of time.
    package private(set) var incomplete: [Finding.Code] = []
    /// The reasons why stores are left out, as full sentences.
    package private(set) var notes: [String]
    /// A way to get findings in the next run, as full sentences; nil if there are findings.
    package private(set) var hint: String?
    /// The last query and the last transaction.
    ///
    /// Nil if there are findings, unless they are only possible and don't have the known results of the failing query.
    package private(set) var last: LastActivity?
    /// The names of the stores that have a history.
    package private(set) var histories: [String] = []

    package struct Test: Encodable {
        package let framework, suite, name: String
        /// The arguments of a parameterised test, as readable text; nil for other tests.
        package var arguments: [String]?

        /// The title, such as `ShopTests.checkout(count:)(3)`.
        package var title: String {
            BundleMetadata.Test.title(suite: suite, name: name, arguments: arguments)
        }
    }

    package struct Failure: Encodable {
        package let message: String
        /// The source file, relative to the package root if that is known, as the test framework reports it otherwise.
        package let file: String?
        package let line: Int?

        /// The place as text; nil if the file is unknown.
        ///
        /// It isn't part of the JSON form.
        package let place: String?

        private enum CodingKeys: String, CodingKey {
            case message, file, line
        }
    }

    private enum CodingKeys: String, CodingKey {
        case formatVersion, bundle, test, failure, findings, last, files, incomplete, notes
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(formatVersion, forKey: .formatVersion)
        try container.encode(bundle, forKey: .bundle)
        try container.encode(test, forKey: .test)
        try container.encodeIfPresent(failure, forKey: .failure)
        try container.encode(findings, forKey: .findings)
        try container.encodeIfPresent(last, forKey: .last)
        if !files.isEmpty { try container.encode(files, forKey: .files) }
        if !incomplete.isEmpty { try container.encode(incomplete, forKey: .incomplete) }
        if !notes.isEmpty { try container.encode(notes, forKey: .notes) }
    }

    /// The default number of findings to show.
    package static let standardCount = 5

    /// The rules.
    static var rules: [any FindingRule.Type] {
        [
            InvariantBroken.self, DifferenceFromPass.self, ForeignKeyViolation.self, Integrity.self,
            StatementFailed.self, Busy.self, OpenTransaction.self, RolledBack.self, NoEffect.self,
            LostUpdate.self,
            BroadWrite.self, PartialDelete.self, EmptiedTable.self, Orphan.self, TypeMismatch.self,
            NullOutlier.self,
            PatternOutlier.self, NumberOutlier.self, DuplicateRows.self, UnexpectedDelete.self,
            Leftover.self, FullScan.self,
            ResultChanged.self, MessageValues.self,
        ]
    }

    /// Derives the findings.
    ///
    /// - Parameters:
    ///   - evidence: The failure.
    ///   - bundle: The name of the bundle.
    ///   - seconds: The time limit of each rule for a store, in seconds.
    package init(_ evidence: FailureEvidence, bundle: String, seconds: Double = 0.3) {
        self.bundle = bundle
        let metadata = evidence.metadata
        test = Test(
            framework: metadata.test.framework, suite: metadata.test.suite,
            name: metadata.test.name, arguments: metadata.test.arguments)
        outcome = metadata.outcome
        let root = evidence.packageRoot
        failure = metadata.failures.first.map {
            Failure(
                message: $0.message, file: $0.sourceFile.map(root.relativePath),
                line: $0.sourceFile == nil ? nil : $0.line, place: FailureText.place(of: $0, in: root))
        }
        notes = evidence.notes
        files = evidence.files
        var found: [Finding] = []
        for store in evidence.stores {
            let relevance = store.relevance(to: evidence.message, seconds: seconds)
            for rule in Self.rules {
                store.deadline = Instant.now.advanced(bySeconds: seconds)
                do {
                    for var finding in try rule.findings(in: store, of: evidence) {
                        store.checkStatement(of: &finding)
                        finding.relate(to: relevance)
                        finding.isOneOfSeveralStores = metadata.stores.count > 1
                        finding.countRows(in: store)
                        found.append(finding)
                    }
                } catch {
                    // A query that fails for another reason than time, such as a missing collation, finds nothing.
                    let isLate =
                        error is StoreEvidence.TimeIsUp || (error as? SQLiteError)?.isInterrupted == true
                    if isLate, !incomplete.contains(rule.code) {
                        incomplete.append(rule.code)
                    }
                }
            }
            store.deadline = nil
        }
        found += ChangedFileValues.findings(of: evidence)
        findings = Self.ordered(found)
        for index in findings.indices {
            let store = evidence.stores.first { $0.name == findings[index].store }
            store?.addCandidates(to: &findings[index])
        }
        for store in evidence.stores where store.store.olderStatements != nil {
            let isUnexplained = findings.contains {
                $0.store == store.name && $0.transaction != nil && $0.statement == nil
                    && $0.statements.isEmpty
            }
            if isUnexplained, let note = store.store.olderStatements {
                notes.append("Store '\(store.name)': \(note)")
            }
        }
        histories = evidence.stores.filter { $0.store.history?.entry != nil }.map(\.name)
        let isExplained = findings.contains { $0.confidence > .possible || $0.code == .resultChanged }
        if !isExplained, let activity = LastActivity(evidence) {
            last = findings.isEmpty || activity.result != nil ? activity : nil
        }
        if findings.isEmpty, !evidence.stores.isEmpty, histories.isEmpty, evidence.passing == nil {
            // The stores with the same reason are named once, and only if others have another one.
            let reasons = Dictionary(grouping: evidence.stores, by: \.store.missingHistory)
            let sentences = reasons.compactMap { reason, stores in
                reason.map { reason in
                    let names = stores.map { "'\($0.name)'" }.joined(separator: ", ")
                    return (reasons.count == 1 ? "" : "Of \(names): ") + reason
                }
            }
            hint =
                (["No store has a history of its transactions."] + sentences.sorted() + [
                    "With FAILURE_ARTIFACTS_PASSING=always, a run that passed leaves its stores for comparison."
                ]).joined(separator: " ")
        }
    }

    /// Creates an explanation from findings, for tests of its outputs.
    init(
        bundle: String, test: Test, failure: Failure?, findings: [Finding], histories: [String] = []
    ) {
        self.bundle = bundle
        self.test = test
        outcome = .failed
        self.failure = failure
        self.findings = findings
        self.histories = histories
        files = []
        notes = []
    }

    /// Removes all findings but the first ones.
    package mutating func keepFirst(_ count: Int) { findings = Array(findings.prefix(count)) }

    /// Orders findings by confidence, relevance and closeness to the failure, and keeps one for the same evidence.
    ///
    /// One statement can be behind several findings. The best one comes first, and the others after those about other
    /// statements, if they are of equal confidence.
    static func ordered(_ findings: [Finding]) -> [Finding] {
        let sorted = findings.enumerated().sorted { first, second in
            let (a, b) = (first.element, second.element)
            if a.confidence != b.confidence { return a.confidence > b.confidence }
            if a.relevance != b.relevance { return a.relevance > b.relevance }
            let (x, y) = (a.transaction ?? 0, b.transaction ?? 0)
            return x != y ? x > y : first.offset < second.offset
        }
        var kept: [Finding] = []
        for finding in sorted.map(\.element) where !kept.contains(where: { $0.hasEvidence(of: finding) })
        {
            kept.append(finding)
        }
        // A finding that says what is remarkable about a statement comes before one about its effect on the result.
        if let index = kept.firstIndex(where: { $0.code == .resultChanged }),
            let other = kept[index...].firstIndex(where: { $0.isAbout(kept[index]) })
        {
            kept.insert(kept.remove(at: other), at: index)
        }
        var statements: Set<String> = []
        let repeated = kept.map { finding in
            finding.statement.map { !statements.insert("\(finding.store ?? "") \($0.order)").inserted }
                ?? false
        }
        return zip(kept, repeated).enumerated().sorted { first, second in
            let (a, b) = (first.element, second.element)
            if a.0.confidence != b.0.confidence { return a.0.confidence > b.0.confidence }
            return a.1 != b.1 ? b.1 : first.offset < second.offset
        }.map(\.element.0)
    }
}

extension Finding {
    /// True if it is another finding about the same statement, of the same confidence.
    fileprivate func isAbout(_ other: Finding) -> Bool {
        code != other.code && confidence == other.confidence && store == other.store
            && statement != nil && statement?.order == other.statement?.order
    }

    /// True if another finding has the same evidence and would say the same again.
    fileprivate func hasEvidence(of other: Finding) -> Bool {
        guard store == other.store else { return false }
        // It says when rows changed, and other rules say what is remarkable about that.
        if code == .resultChanged, other.code != .messageValues { return false }
        guard !rows.isEmpty, !other.rows.isEmpty else {
            let isSame =
                statement == nil ? title == other.title : statement?.order == other.statement?.order
            return rows.isEmpty && other.rows.isEmpty && isSame
        }
        let (own, others) = (Set(rows.map(\.identity)), Set(other.rows.map(\.identity)))
        guard own == others else {
            // The same deletion; findings about many rows name only some of them.
            return (rows + other.rows).allSatisfy { $0.change == .deleted } && statement != nil
                && statement?.order == other.statement?.order
                && (own.isSubset(of: others) || others.isSubset(of: own))
        }
        // The same rows can be remarkable for several of their columns.
        guard let columns = remarkableColumns, let otherColumns = other.remarkableColumns else {
            return true
        }
        return !columns.isDisjoint(with: otherColumns)
    }

    /// The columns whose values a finding is about; nil if it is about the rows.
    private var remarkableColumns: Set<String>? {
        guard code.isOutlier || code == .messageValues else { return nil }
        return Set(rows.flatMap(\.columns).map { folded($0.column) })
    }

    /// Adds the relation to the assertion.
    ///
    /// A possible cause whose rows explain the difference that the assertion saw is a likely one, if the rule allows it.
    ///
    /// The effect of a statement that the test itself ran is what its author wrote, not the work of the tested code, unless
    /// the test failed with that error.
    fileprivate mutating func relate(to relevance: Relevance) {
        let score = relevance.score(of: self)
        self.relevance += score
        if let needed = likelyFrom, confidence == .possible, self.relevance >= needed,
            relevance.readsColumn(of: self)
        {
            confidence = .likely
        }
        if code.isEffect, source?.isInTests == true, !relevance.namesError(of: self) {
            confidence = .possible
        }
    }

    /// The smallest of the rules' limits on the number of rows.
    static let smallestRowLimit = 5

    /// Counts the rows that the transaction changed if the finding may have only the first ones.
    fileprivate mutating func countRows(in store: StoreEvidence) {
        guard rows.count >= Self.smallestRowLimit, let transaction,
            let step = store.steps.first(where: { $0.number == transaction }),
            rows.allSatisfy({ $0.table == rows[0].table && $0.change == rows[0].change }),
            let counts = step.counts(of: rows[0].table)
        else { return }
        let count: Int64 =
            switch rows[0].change {
            case .inserted: counts.inserted
            case .updated: counts.updated
            case .deleted: counts.deleted
            case .present, .missing: 0
            }
        if count > rows.count { rowsOfTransaction = count }
    }
}

extension Finding.Row {
    /// The table and the key, as text.
    fileprivate var identity: String { "\(table) \(key.map { "\($0.value.content)" })" }
}
