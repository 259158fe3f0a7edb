package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The findings about a failure, best first.
package struct Explanation: JSONDocument {
    package let bundle: String
    package let test: Test
    /// The way the test ended; not part of the JSON form.
    package let outcome: BundleMetadata.Outcome
    package let failure: Failure?
    /// The earlier occurrences of the failure; nil if none is known.
    package private(set) var seenBefore: BundleMetadata.SeenBefore?
    package private(set) var findings: [Finding] = []
    /// All differences from the last passing run, which aren't part of the JSON form; nil if no run can be compared.
    package private(set) var differences: [Finding]?
    /// The reasons why stores are left out, as full sentences.
    package private(set) var notes: [String]
    /// The sentence in place of findings if there are none.
    package let noFindings: String
    /// A way to get findings in the next run, as full sentences; nil if there are findings.
    package private(set) var hint: String?
    /// The failing query, or the last one before the failure, with its results; nil without one.
    package private(set) var question: QuestionDocument?
    /// The names of the stores that have a history.
    package private(set) var histories: [String] = []

    package struct Test: Encodable {
        package let framework, suite, name: String
        /// The arguments of a parameterized test, as readable text; nil for other tests.
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

        /// The place as text, not part of the JSON form; nil if the file is unknown.
        package let place: String?

        private enum CodingKeys: String, CodingKey {
            case message, file, line
        }
    }

    /// The answer in one or two sentences if no finding is more than possible; nil otherwise.
    package var verdict: String? {
        guard let first = findings.first, first.confidence == .possible,
            ![.noDifference, .differenceFromPass].contains(first.code)
        else { return nil }
        if findings.contains(where: { $0.evidence == .rightData }) {
            return
                "No cause in the database: it has the expected value. Look at the code after the query."
        }
        if question == nil, first.evidence == .last {
            return "No cause in the database is known: the test ran no query near the assertion. "
                + "Its last changes are below."
        }
        let expected = question.flatMap { $0.isFailing ? $0.expected : nil }
        let isFound =
            question?.results.contains { $0.isExpected == true } == true
            || findings.contains {
                $0.undone?.isExpected == true || $0.code == .wrongQuery
                    || $0.evidence == .expectedExclusion
            }
        if !isFound, let second = question?.second {
            return
                "The database has \(second), the second value of the assertion. If that is the expected one, there is no "
                + "cause in the database: look at the code after the query."
        }
        let isOpen =
            isFound || question?.isReversed == true || question?.expectsNothing == true
            || question?.isComparable == false
        let known =
            isOpen
            ? nil : expected.map { "Nothing that was tried gives the expected \($0)" }
        let others =
            findings.contains { !$0.otherTests.isEmpty }
            ? ", the expectation, or what another test left" : ", or the expectation"
        return
            "\(known ?? "No cause is sure"): a statement, the code around it\(others) may be wrong."
    }

    package var json: JSONObject {
        [
            "formatVersion": "1.0", "bundle": bundle, "test": test, "failure": failure,
            "findings": findings, "seenBefore": seenBefore, "verdict": verdict, "question": question,
            "notes": notes.nonEmpty,
        ]
    }

    package static let standardCount = 5

    static var rules: [any FindingRule.Type] {
        [
            InvariantBroken.self, PassingStore.self, BrokenReference.self, Integrity.self,
            StatementFailed.self, Busy.self, OpenTransaction.self, RolledBack.self, SharedRow.self,
        ]
    }

    package init(_ evidence: FailureEvidence, bundle: String) {
        self.bundle = bundle
        let metadata = evidence.metadata
        test = Test(
            framework: metadata.test.framework, suite: metadata.test.suite,
            name: metadata.test.name, arguments: metadata.test.arguments)
        outcome = metadata.outcome
        seenBefore = metadata.seenBefore
        let isUsing = evidence.usedStores.count + metadata.stores.count > evidence.stores.count
        noFindings = isUsing ? "No cause was found in the stores." : "The test used no store."
        let root = evidence.packageRoot
        failure = metadata.failures.first.map {
            Failure(
                message: $0.message, file: $0.sourceFile.map(root.relativePath),
                line: $0.sourceFile == nil ? nil : $0.line, place: FailureText.place(of: $0, in: root))
        }
        notes = evidence.notes
        let investigation = Investigation(evidence)
        var found = investigation.findings
        for store in evidence.usedStores {
            for rule in Self.rules {
                // A query that fails, for example because a collation is missing, finds nothing.
                found += (try? rule.findings(in: store, of: evidence)) ?? []
            }
        }
        let function = metadata.test.function
        for store in evidence.usedStores {
            store.addStatements(to: &found, StepBudget(steps: evidence.effort.steps))
        }
        for index in found.indices {
            guard let store = evidence.stores.first(where: { $0.name == found[index].store }) else {
                continue
            }
            found[index].isOneOfSeveralStores = metadata.stores.count > 1
            found[index].countRows(in: store)
            found[index].findRowsOfTransaction(in: store)
            found[index].findOtherTest(in: store)
            found[index].findArrangement(of: function)
            found[index].weaken()
        }
        // What another test changed, and undoing what it wrote: each confirms the other.
        let fixes = Set(found.filter(\.isExactFix).flatMap(\.otherTests).compactMap(\.title))
        for index in found.indices where found[index].code == .otherTest {
            if !fixes.isDisjoint(with: found[index].otherTests.compactMap(\.title)) {
                found[index].confidence = .likely
            }
        }
        findings = Self.ordered(found)
        if let baseline = BaselineFindings(evidence) {
            differences = baseline.own + baseline.common
            findings = baseline.added(to: findings)
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
        question = investigation.document
        if findings.isEmpty, !evidence.stores.isEmpty, histories.isEmpty, evidence.passing == nil {
            let reasons = Set(evidence.stores.compactMap(\.store.missingHistory)).sorted()
            hint =
                (["No store has a history of its transactions."] + reasons + [
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
        noFindings = "No cause was found in the stores."
        self.failure = failure
        self.findings = findings
        self.histories = histories
        notes = []
    }

    /// Adds what a checkout tells: the commits of lines of the first differences from the last passing run, and the texts
    /// of the first statements that aren't where these ran.
    package mutating func add(_ checkout: Checkout) {
        let differences = findings.indices.filter { findings[$0].code == .differenceFromPass }
        for index in differences.prefix(Self.maximumCommits) {
            guard let source = findings[index].source, source.isInPackage else { continue }
            findings[index].lineCommit = checkout.commit(source).map { SafeText.line($0) }
        }
        for index in findings.indices.prefix(Self.maximumTexts) {
            findings[index].textSource = findings[index].statement.flatMap(checkout.text)
        }
    }

    private static let (maximumCommits, maximumTexts) = (4, 2)

    package mutating func keepFirst(_ count: Int) { findings = Array(findings.prefix(count)) }

    /// The place in which the failing query is listed, if there is no better one: it is always part of the answer.
    private static let placeOfQuery = 2

    /// Orders findings by confidence, evidence and closeness to the failure, and keeps one for the same change.
    static func ordered(_ findings: [Finding]) -> [Finding] {
        let sorted = findings.sorted { a, b in
            if a.confidence != b.confidence { return a.confidence > b.confidence }
            if a.isArranged != b.isArranged, !a.isAboutQuery, !b.isAboutQuery { return b.isArranged }
            if a.rank != b.rank { return a.rank < b.rank }
            if a.evidence != b.evidence { return a.evidence < b.evidence }
            let (x, y) = (
                a.transaction ?? a.writer ?? .max, b.transaction ?? b.writer ?? .max
            )
            return x > y
        }
        var kept: [Finding] = []
        var alike: [Int: Set<Int>] = [:]
        for finding in sorted {
            if let index = kept.firstIndex(where: { $0.says(finding) }) {
                if let transaction = finding.transaction, transaction != kept[index].transaction,
                    kept[index].isAlike(finding)
                {
                    alike[index, default: []].insert(transaction)
                }
            } else {
                kept.append(finding)
            }
        }
        for (index, transactions) in alike {
            let subject = Counted.items(
                Int64(transactions.count), "more transaction with the same statement is",
                "more transactions with the same statement are")
            kept[index].explanation += " \(subject) left out."
        }
        if let query = kept.firstIndex(where: \.isAboutQuery), query > placeOfQuery {
            kept.insert(kept.remove(at: query), at: placeOfQuery)
        }
        return kept
    }
}

extension Finding {
    /// True for the finding that names the failing query.
    fileprivate var isAboutQuery: Bool { code.isOfQuery && writer == nil }

    /// True if the test itself ran the statement, which then does what its author wanted.
    fileprivate var isOfTestCode: Bool { source?.isInTests == true && !code.isOfQuery }

    /// Notes whether the test's preparation ran the statement: code of the tests' files, but not the test's function, called
    /// it.
    fileprivate mutating func findArrangement(of test: String) {
        let frames = (statement ?? statements.last)?.frames.filter(\.isInTests) ?? []
        let isOfTest = frames.contains { $0.isIn(test) }
        guard otherTests.isEmpty || isIncidental else { return }
        isArranged = isOfTestCode || !frames.isEmpty && !isOfTest && evidence >= .approach
    }

    /// True if the finding is about the effect of a transaction on the question.
    var isExperiment: Bool { [.resultChanged, .unexpectedDelete].contains(code) }

    /// The evidence; other tests' changes to what the question reads come after those of the test itself.
    fileprivate var rank: Evidence {
        if code == .otherTest { return min(evidence, .approach) }
        return isIncidental ? max(evidence, .otherTest) : evidence
    }

    /// Notes whether another test ran the transaction or the statement, which the finding names then.
    fileprivate mutating func findOtherTest(in store: Timeline) {
        guard otherTests.isEmpty else { return }
        if let transaction {
            guard let other = store.step(ofTransaction: transaction).flatMap(store.otherTest) else {
                return
            }
            add([other], "The transaction is")
            // What the preparation of a store does in the first of several tests is for all of them.
            isLeftBehind =
                isExactFix && other.time == .before && statement?.isOfTest(named: other.name) ?? false
            if isLeftBehind { confidence = max(confidence, .likely) }
            isIncidental = isExperiment && !isFixOfOthers && !isLeftBehind
        } else if let order = statement?.order,
            let shown = store.statements.first(where: { $0.order == order })
        {
            add([store.otherTest(of: [shown])].compactMap(\.self), "The statement is")
        }
        if isIncidental, confidence == .likely { confidence = .possible }
    }

    /// True if another finding would say the same again.
    fileprivate func says(_ other: Finding) -> Bool {
        // The log of each database that is attached to a connection has the connection's errors.
        if let statement, statement.error != nil, statement.order == other.statement?.order {
            return true
        }
        guard store == other.store else { return false }
        if code == other.code, title == other.title {
            // Statements on a store without a history differ only in their text and line.
            return !isExperiment || transaction != nil || statement == nil
                || statement?.order == other.statement?.order
        }
        // A broken rule or an error says something else than an experiment.
        guard isExperiment, other.isExperiment || code == other.code else { return false }
        if isAlike(other) { return true }
        guard transaction != nil, transaction == other.transaction else { return false }
        return statement == nil || other.statement == nil || statement?.order == other.statement?.order
    }

    /// True for the same statement in another transaction with the same kind of effect.
    fileprivate func isAlike(_ other: Finding) -> Bool {
        guard isExperiment, other.isExperiment, store == other.store, evidence == other.evidence,
            let statement, let otherStatement = other.statement
        else { return false }
        return statement.sql == otherStatement.sql && statement.source == otherStatement.source
            && (statement.source != nil || statement.order == otherStatement.order)
    }

    /// Makes a likely cause a possible one if it is the effect of a statement of the test itself.
    fileprivate mutating func weaken() {
        guard confidence == .likely, isOfTestCode, otherTests.isEmpty else { return }
        switch evidence {
        case .fix, .approach, .change, .loss: confidence = .possible
        default: break
        }
    }

    /// Notes which rows several statements of the transaction may have changed.
    fileprivate mutating func findRowsOfTransaction(in store: Timeline) {
        guard let transaction, let step = store.step(ofTransaction: transaction) else { return }
        for index in rows.indices where rows[index].change != .present {
            // A trigger may have changed the row.
            let tables = store.tables(affecting: [folded(rows[index].table)])
            let writes = step.statements.filter { statement in
                statement.writes && statement.outline.table.map(tables.contains) ?? false
            }
            // Each row is inserted once.
            rows[index].isOfWholeTransaction =
                writes.count > 1
                && !(rows[index].change == .inserted && writes.allSatisfy { $0.outline.kind == .insert })
        }
    }

    /// The smallest of the rules' limits on the number of rows.
    static let smallestRowLimit = 5

    /// Counts the rows that the transaction changed if the finding may have only the first ones.
    fileprivate mutating func countRows(in store: Timeline) {
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
