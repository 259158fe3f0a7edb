internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The source of a test that starts with a captured store.
struct FixtureTest {
    var storeType = FixtureStoreType.sqlite
    /// The extension of the store's file: `sql` or `sqlite`.
    var fileExtension = "sqlite"
    let test: BundleMetadata.Test
    /// The first failure, if one is known.
    let failure: BundleMetadata.Failure?
    /// The state of the store, as a clause.
    let state: String
    var outcome = BundleMetadata.Outcome.failed
    /// The transactions that broke the store; nil if they are unknown.
    var plan: FixturePlan?
    /// Further facts about the store, as full sentences.
    var notes: [String] = []

    private var isXCTest: Bool { test.framework == "XCTest" }

    /// The name of the type without its ending, such as `March` of `LedgerTests.testMarch`.
    var stem: String {
        let method = test.name.prefix { $0 != "(" }
        let name = Self.identifier(method.hasPrefix("test") ? method.dropFirst(4) : method, isType: true)
        return name.prefix(1).uppercased() + name.dropFirst()
    }

    /// The name of the class or suite, such as `MarchFixture`.
    var typeName: String { stem + "Fixture" }

    var fileName: String { typeName + ".swift" }

    static let directory = "Fixtures"

    var storeFile: String { stem + "." + fileExtension }

    /// The words that a function can be named by only in backticks
    /// (<https://docs.swift.org/swift-book/documentation/the-swift-programming-language/lexicalstructure/>).
    private static let keywords: Set = [
        "Any", "Self", "as", "associatedtype", "break", "case", "catch", "class", "continue",
        "default", "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false",
        "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout",
        "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol",
        "public", "repeat", "rethrows", "return", "self", "static", "struct", "subscript",
        "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where",
        "while",
    ]

    private var methodName: String {
        let name = Self.identifier(test.name.prefix { $0 != "(" }, isType: false)
        if !isXCTest { return Self.keywords.contains(name) ? "`\(name)`" : name }
        return name.hasPrefix("test") ? name : "test_" + name
    }

    private var storeTypeName: String {
        storeType == .sqlite ? storeType.rawValue : stem + "FixtureStore"
    }

    /// The Swift source of the test.
    ///
    /// It compiles unchanged in a target that depends on `FailureArtifactsTestKit` and has the directory as a resource,
    /// and the test fails.
    var source: String {
        let isGRDB = storeType != .sqlite
        let imports = [
            "FailureArtifactsTestKit", "Foundation", isGRDB ? "GRDB" : nil,
            isXCTest ? "XCTest" : "Testing",
        ]
        var text = imports.compactMap { $0 }.map { "import \($0)\n" }.joined() + "\n"
        text += header.map { $0.isEmpty ? "///\n" : "/// \($0)\n" }.joined()
        let content = """
            .reducible(
                .resource("\(stem)", withExtension: "\(fileExtension)", subdirectory: "\(Self.directory)", in: .module))
            """
        if isXCTest {
            text += """
                final class \(typeName): StoreTestCase<\(storeTypeName)> {
                    override var content: StoreContent<\(storeTypeName)> {
                \(Self.indented(content, by: 8))
                    }

                    func \(methodName)() throws {
                \(Self.indented(body, by: 8))
                    }
                }

                """
        } else {
            text += """
                @Suite struct \(typeName) {
                    static let content = StoreContent<\(storeTypeName)>
                \(Self.indented(content, by: 8))

                    @Test func \(methodName)() throws {
                        try withTestStore(\(storeTypeName).self, Self.content) { store in
                \(Self.indented(body, by: 12))
                        }
                    }
                }

                """
        }
        return isGRDB ? text + "\n" + storeSource : text
    }

    private var header: [String] {
        let end = outcome == .passed ? "passed" : "failed"
        var lines = [
            "Starts with the store of \(Self.comment("\(test.suite).\(test.name)")), as it was \(Self.comment(state)).",
            "",
            "The test \(end)" + (failure.map { ": " + Self.comment($0.message) } ?? "."),
        ]
        if !notes.isEmpty { lines += [""] + notes.map { Self.comment($0) } }
        return lines
    }

    // MARK: - The test's body

    private var body: String {
        var lines: [String] = []
        let run = isVisible ? plan?.run : nil
        if let plan, let run {
            lines += statements(of: run, plan)
        } else {
            lines +=
                (plan.map { Self.steps(of: $0.culprit) } ?? [
                    "The transaction that broke the store is unknown."
                ])
                .map(Self.commentLine)
            let message =
                "This test is incomplete: do with the store what the failed test did next, and remove this line."
            lines += [(isXCTest ? "XCTFail(" : "Issue.record(") + message.debugDescription + ")", ""]
        }
        if !isVisible { lines.append("// The SQL is left out, because it has invisible characters.") }
        if let plan, let assertion = plan.assertion, isVisible {
            lines += comparison(assertion, plan)
        } else if run == nil {
            lines += ["// Expect here what the failed test expected\(place):"] + message
            if !isXCTest { lines.append("_ = store") }
        }
        return lines.joined(separator: "\n")
    }

    private static func commentLine(_ text: String) -> String { text.isEmpty ? "//" : "// " + text }

    /// The line of the failed assertion.
    private var place: String {
        failure?.file.map { " at \(Self.comment(Path.name(of: $0))):\(failure?.line ?? 0)" } ?? ""
    }

    private var message: [String] { failure.map { ["// " + Self.comment($0.message)] } ?? [] }

    /// True if all SQL of the test shows what it does.
    private var isVisible: Bool {
        let texts =
            [plan?.assertion?.sql].compactMap(\.self)
            + (plan?.run.map { $0.statements + $0.later } ?? [])
        return texts.allSatisfy(Self.isVisible)
    }

    /// The statements that break the store, in place of the call that ran them.
    private func statements(of run: FixtureRun, _ plan: FixturePlan) -> [String] {
        guard !run.statements.isEmpty else { return [] }
        let subject =
            switch plan.culprit.place {
            case .transaction(let number): "Transaction \(number) ran this."
            case .openTransaction: "The uncommitted transaction ran this."
            case .statement, .query:
                plan.fails || run.ignoresErrors
                    ? "This statement failed." : "This statement changed nothing."
            }
        var lines = ["// " + subject] + Self.replacement(of: plan.culprit.statements)
        if let setting = run.setting { lines += ["try store.rows(\"\(setting)\")"] }
        let isChecked = plan.fails && isXCTest
        let call = Self.call(
            run.ignoresErrors ? "try? store.transaction(" : "try store.transaction(",
            Self.script(run.statements),
            end: isChecked ? "))" : ")")
        if isChecked {
            lines += ["XCTAssertNoThrow("] + Self.indented(call)
        } else if plan.fails {
            lines += ["#expect(throws: Never.self) {"] + Self.indented(call) + ["}"]
        } else {
            lines += call
        }
        if !run.later.isEmpty {
            lines += ["", "// Then the failed test ran this."] + Self.replacement(of: plan.later)
            lines += Self.call("try store.transaction(", Self.script(run.later))
        }
        return lines + (plan.fails ? [] : [""])
    }

    /// The maximum number of calls that a comment names.
    private static let maximumCalls = 5

    /// Returns comments that name the calls that ran statements.
    private static func replacement(of statements: [StatementRecord]) -> [String] {
        var calls: [String] = []
        for statement in statements {
            guard let call = statement.call.map({ comment($0) }), !calls.contains(call) else { continue }
            calls.append(call)
        }
        let rest = calls.count - maximumCalls
        return ["// Replace it by the code that ran it" + (calls.isEmpty ? "." : ":")]
            + calls.prefix(maximumCalls).map { "//     " + $0 }
            + (rest > 0 ? ["//     and \(rest) more"] : [])
    }

    private static func script(_ statements: [String]) -> String {
        // A comment ends with its line.
        statements.map { $0 + ($0.contains("--") ? "\n;" : ";") }.joined(separator: "\n")
    }

    /// Returns the lines of a call with a statement as its argument.
    private static func call(_ start: String, _ sql: String, end: String = ")") -> [String] {
        let quote = hashes(for: sql)
        let lines = sql.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return [start] + indented(["\(quote)\"\"\""] + lines + ["\"\"\"\(quote)\(end)"])
    }

    private static func indented(_ lines: [String]) -> [String] {
        lines.map { $0.isEmpty ? "" : "    " + $0 }
    }

    private func comparison(_ assertion: RowAssertion, _ plan: FixturePlan) -> [String] {
        var lines: [String] = []
        if let finding = plan.finding {
            let kind =
                switch finding.confidence {
                case .certain: ""
                case .likely: "The likely cause: "
                case .possible: "A possible cause: "
                }
            lines.append("// \(kind)\(Self.comment(finding.title)).")
        }
        if assertion.isOfTest {
            lines +=
                ["// The failed test \(assertion.isSure ? "expects" : "may expect") this\(place):"]
                + message
        }
        if case .query = plan.culprit.place {
            lines += Self.replacement(of: plan.culprit.statements)
        }
        lines += Self.call("let found = try store.rows(", assertion.sql)
        return lines + RowExpectation(assertion, isXCTest: isXCTest).lines
    }

    /// The statements of a transaction and the rows that it changed.
    private static func steps(of culprit: FixturePlan.Culprit) -> [String] {
        var lines: [String] = []
        if !culprit.statements.isEmpty {
            let title =
                switch culprit.place {
                case .transaction(let number): "Transaction \(number) ran:"
                case .openTransaction: "The uncommitted transaction ran:"
                case .statement:
                    culprit.statements[0].error == nil
                        ? "This statement changed nothing:" : "This statement failed:"
                case .query: "The query:"
                }
            lines += [title, ""]
            var last: [String] = []
            var count = 0
            func add() {
                if count > 1 { last[0] += "  (\(count) times)" }
                lines += last
            }
            for statement in culprit.statements {
                let text = Self.lines(of: statement)
                if text == last {
                    count += 1
                } else {
                    add()
                    (last, count) = (text, 1)
                }
            }
            add()
            lines.append("")
        }
        if !culprit.changes.isEmpty {
            lines += ["It changed:", ""]
            lines += culprit.changes.map { "    " + Self.comment($0, limit: 500) }
            if culprit.changeCount > culprit.changes.count {
                lines.append("    … \(culprit.changeCount - culprit.changes.count) more rows")
            }
            lines.append("")
        }
        if culprit.statements.contains(where: { $0.sql.contains("?") && $0.values == nil }) {
            lines += ["The values of some ? were not recorded.", ""]
        }
        return lines
    }

    private static func lines(of statement: StatementRecord) -> [String] {
        let sql = statement.sqlWithValues.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        var lines = ["    " + comment(sql, limit: 500)]
        var seen: Set<String> = []
        for source in [statement.source].compactMap(\.self) + (statement.callers ?? []) {
            let place = "\(comment(source.file)):\(source.line)"
            guard seen.insert(place).inserted, seen.count <= 3 else { continue }
            let function = source.function.map { "\(comment($0)), " } ?? ""
            lines.append("        " + (seen.count == 1 ? "" : "called by ") + function + place)
        }
        return lines
    }

    private var storeSource: String {
        let type = storeType.rawValue
        return """
            /// A store that GRDB opens, for the test above.
            final class \(storeTypeName): TestStore {
                let database: \(type)

                init(at location: StoreLocation) throws { database = try \(type)(path: location.path) }

                func close() throws { try database.close() }

                func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
                    try database.writeWithoutTransaction { try body($0.sqliteConnection!) }
                }
            }

            """
    }

    // MARK: - Text

    private static func indented(_ text: String, by count: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.isEmpty ? "" : String(repeating: " ", count: count) + $0
        }.joined(separator: "\n")
    }

    /// True for SQL whose source shows what it does: invisible characters can hide a part of it.
    private static func isVisible(_ sql: String) -> Bool {
        sql.split(separator: "\n").allSatisfy { line in
            let line = line.filter { $0 != "\t" }
            return SafeText.line(line) == line
        }
    }

    /// Returns enough number signs for a raw string literal with the text.
    private static func hashes(for text: String) -> String {
        var longest = 0
        var count = 0
        // The compiler counts bytes: a sign and the marks that follow it are one character.
        for byte in text.utf8 {
            count = byte == UInt8(ascii: "#") ? count + 1 : 0
            longest = max(longest, count)
        }
        return String(repeating: "#", count: longest + 1)
    }

    /// Returns the letters and digits of a name in any script; a bundle's names may contain anything.
    private static func identifier(_ name: some StringProtocol, isType: Bool) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            let isKept =
                scalar == "_" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            if isKept { result.unicodeScalars.append(scalar) }
        }
        // Two names and an ending have to fit into the name of a file.
        result = SafeName.cut(String(result.prefix(60)), toBytes: 100)
        guard let first = result.unicodeScalars.first else { return isType ? "Captured" : "captured" }
        return first == "_" || first.properties.isXIDStart ? result : "_" + result
    }

    private static func comment(_ text: String, limit: Int = 300) -> String {
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        let text = SafeText.line(String(line.prefix(limit)))
        // XCTest ends the text of an assertion without a message in this way.
        return text.hasSuffix(" - ") ? String(text.dropLast(3)) : text
    }
}

extension FixturePlan {
    /// A description of the state that the test starts with, as a clause.
    var state: String {
        switch culprit.place {
        case .transaction(let number):
            let verb =
                switch finding?.confidence {
                case .certain: "broke"
                case .likely: "probably broke"
                case .possible, nil: "may have broken"
                }
            return "before transaction \(number), which \(verb) it"
        case .openTransaction: return "before the transaction that was not committed"
        case .statement(let number):
            return "after transaction \(number), before the statement below"
        case .query(let number?): return "after transaction \(number), when the query below ran"
        case .query(nil): return "at the failure"
        }
    }

    /// A sentence about the state and the finding, for the terminal.
    var summary: String {
        let state =
            switch culprit.place {
            case .transaction(let number): "the one before transaction \(number)"
            case .openTransaction: "the one before the uncommitted transaction"
            case .statement: "the one before the statement"
            case .query: "the one that the query read"
            }
        guard let finding else {
            return "The store is \(state). The transaction that broke it is unknown."
        }
        let kind =
            switch finding.confidence {
            case .certain: "finding"
            case .likely: "likely cause"
            case .possible: "possible cause"
            }
        return "The store is \(state) of this \(kind): \(finding.line)"
    }
}

/// The type with which a generated test opens its store.
enum FixtureStoreType: String {
    case sqlite = "SQLiteTestStore"
    case databaseQueue = "DatabaseQueue"
    case databasePool = "DatabasePool"

    /// Infers the type from the way in which the failed test used the store.
    init(of store: BundleMetadata.Store, _ statements: [StatementRecord]) {
        // GRDB writes these statements out in full.
        let isGRDB =
            (store.tables ?? []).contains { $0.name == "grdb_migrations" }
            || statements.contains {
                ["COMMIT TRANSACTION", "BEGIN DEFERRED TRANSACTION", "BEGIN IMMEDIATE TRANSACTION"]
                    .contains($0.sql)
            }
        self = !isGRDB ? .sqlite : store.journalMode == "wal" ? .databasePool : .databaseQueue
    }
}
