internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Writes a store, and the source of a test that starts with it.
struct FixtureFiles {
    struct Options {
        var store: String?
        /// The state; nil for the one before the transaction that broke the store.
        var commit: CommitReference?
        var framework: FixtureTest.Framework?
        var storeType: FixtureStoreType?
        var isWhole = false
    }

    /// The maximum size of a script, in bytes; a larger store is written as a database.
    private static let scriptLimit = 64 << 10

    let options: Options
    let console: Console

    func write(
        of bundle: BundleReader, to directory: String, scratch: String,
        report: (String) throws -> Void
    ) throws {
        let metadata = bundle.metadata
        var plan = options.commit == nil ? try plan(bundle, scratch: scratch) : nil
        let choice = try bundle.store(named: plan?.store.name ?? options.store)
        let copy: String
        var notes: [String] = []
        var state = metadata.outcome == .passed ? "at the test's end" : "at the failure"
        if var found = plan {
            (copy, notes, state) = try prepare(&found, in: bundle, scratch: scratch)
            plan = found
        } else {
            let store = try bundle.extract(choice, at: options.commit, below: scratch)
            copy = store.path
            if let number = store.state { state = number.description }
        }
        if let redactions = choice.store.redactions, !redactions.isEmpty {
            let note = "The store was redacted: \(redactions.joined(separator: ", "))."
            notes.append(note)
            try console.warn(note)
        }
        let log = (try? bundle.statements(of: choice.store)) ?? []
        var test = FixtureTest(
            framework: options.framework ?? (metadata.test.framework == "XCTest" ? .xctest : .testing),
            storeType: options.storeType
                ?? FixtureStoreType(of: choice.store.inspected(copyAt: copy) ?? choice.store, log),
            test: metadata.test, failure: metadata.failures.first, state: state,
            outcome: metadata.outcome, plan: plan, notes: notes)

        let script = try StoreScript.bytes(
            of: copy, limits: console.limits.store, maximum: Self.scriptLimit, checksForeignKeys: true)
        if script != nil { test.fileExtension = "sql" }
        let resources = Path.join(directory, FixtureTest.directory)
        let (file, source) = (
            Path.join(resources, test.storeFile), Path.join(directory, test.fileName)
        )
        for path in [file, source] { try WholeFile.checkNew(path, choice: "directory") }
        try WholeFile.create(file) { part in
            if let script {
                try FileSystem.write(script, toNewFile: part)
            } else {
                try FileSystem.copy(copy, toNewFile: part)
            }
        }
        try report(file)
        try WholeFile.create(source) { try FileSystem.write(Array(test.source.utf8), toNewFile: $0) }
        try report(source)
        explain(plan)
    }

    private func plan(_ bundle: BundleReader, scratch: String) throws -> FixturePlan? {
        let invariants = try console.invariants(in: nil)
        let evidence = FailureEvidence(
            bundle, scratch: scratch, checking: invariants, limits: console.limits.store)
        let explanation = Explanation(evidence, bundle: bundle.location.description)
        return FixturePlan(evidence, explanation, store: options.store)
    }

    /// Extracts the store before the transaction, and leaves out rows.
    private func prepare(
        _ plan: inout FixturePlan, in bundle: BundleReader, scratch: String
    ) throws -> (path: String, notes: [String], state: String) {
        let limits = console.limits.store
        let (before, after) = try plan.states(in: bundle, below: scratch)
        let total = try StoreReduction.size(of: before, limits: limits).rowCount
        var notes: [String] = []
        let changesRows = plan.culprit.changeCount > 0
        if !options.isWhole, total > 0, changesRows {
            if try plan.slice(before, after: after, limits: limits) {
                let count = try StoreReduction.size(of: before, limits: limits).rowCount
                notes.append(
                    "It has \(count) of \(Counted.items(Int64(total), "row")): those that the transaction changed or refers to. "
                        + "'extract --fixture --whole' keeps all.")
            } else {
                try console.warn("All rows are kept, because some can't be left out safely.")
            }
        }
        plan.verifyQuery(fixture: before, broken: after, limits: limits)
        return (before, notes, plan.state)
    }

    private func explain(_ plan: FixturePlan?) {
        if let plan {
            console.say(plan.summary)
        } else if options.commit == nil {
            console.say(
                "The transaction that broke the store is unknown, so the test starts with the store at the failure."
            )
        }
        console.say("Move the files into a test target, and add these lines to it in Package.swift:")
        console.say(
            "    dependencies: [.product(name: \"FailureArtifactsTestKit\", package: \"failure-artifacts\")],"
        )
        console.say("    resources: [.copy(\"\(FixtureTest.directory)\")]")
        console.say("The test fails until it is completed; its comments say how.")
    }
}
