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

    /// The name of the type without its ending, such as `LedgerTestsMarch`.
    var stem: String {
        let method = test.name.prefix { $0 != "(" }
        var name = Self.identifier(method.hasPrefix("test") ? method.dropFirst(4) : method, isType: true)
        name = name.prefix(1).uppercased() + name.dropFirst()
        return Self.identifier(test.suite, isType: true) + name
    }

    /// The name of the class or suite, such as `LedgerTestsMarchFixture`.
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
    /// It compiles unchanged in a target that depends on `FailureArtifactsTestKit` and has the directory as a resource.
    /// The test fails until it is completed.
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
        var lines = steps.map { ($0.isEmpty ? "//" : "// " + $0) }
        let message =
            "This test is incomplete: do with the store what the failed test did next, and remove this line."
        lines.append(
            (isXCTest ? "XCTFail(" : "Issue.record(") + message.debugDescription + ")")
        lines.append("")
        let query = plan?.query.flatMap(Self.visible)
        if plan?.query != nil, query == nil {
            lines.append(
                "// A query for what is wrong is left out, because it has invisible characters.")
        }
        guard let plan, let query else {
            lines += expectation
            if !isXCTest { lines.append("_ = store") }
            return lines.joined(separator: "\n")
        }
        let title = Self.comment(plan.finding.title)
        switch plan.finding.confidence {
        case .certain: lines.append("// \(title).")
        case .likely: lines.append("// The likely cause: \(title).")
        case .possible:
            // The query returns rows in a store that may be right.
            lines += expectation
            lines += [
                "//", "// A possible cause: \(title).",
                "// Remove the following lines if it isn't what is wrong.",
            ]
        }
        let hashes = Self.hashes(for: query)
        lines.append("let broken = try store.rows(")
        lines += Self.indented("\(hashes)\"\"\"\n\(query)\n\"\"\"\(hashes))", by: 4).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        lines.append(
            isXCTest ? "XCTAssertEqual(broken, [])" : "#expect(broken == [])")
        return lines.joined(separator: "\n")
    }

    private var expectation: [String] {
        guard let failure else { return ["// Expect here what the failed test expected."] }
        let place =
            failure.file.map { " at \(Self.comment(Path.name(of: $0))):\(failure.line ?? 0)" } ?? ""
        return [
            "// Expect here what the failed test expected\(place):",
            "// " + Self.comment(failure.message),
        ]
    }

    /// The statements of the transaction and the rows that it changed.
    private var steps: [String] {
        guard let plan else {
            return ["The transaction that broke the store is unknown."]
        }
        var lines = Self.steps(of: plan.culprit)
        let isUnknown = plan.culprit.statements.contains {
            $0.sql.contains("?") && $0.values == nil
        }
        if isUnknown { lines += ["The values of some ? were not recorded.", ""] }
        return lines
    }

    private static func steps(of culprit: FixturePlan.Culprit) -> [String] {
        var lines: [String] = []
        if !culprit.statements.isEmpty {
            let title =
                switch culprit.place {
                case .transaction(let number): "Transaction \(number) ran:"
                case .openTransaction: "The uncommitted transaction ran:"
                case .statement: "This statement changed nothing:"
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
            let title =
                switch culprit.place {
                case .transaction(let number): "Transaction \(number) changed:"
                case .openTransaction, .statement: "It changed:"
                }
            lines += [culprit.statements.isEmpty ? title : "It changed:", ""]
            lines += culprit.changes.map { "    " + Self.comment($0, limit: 500) }
            if culprit.changeCount > culprit.changes.count {
                lines.append("    … \(culprit.changeCount - culprit.changes.count) more rows")
            }
            lines.append("")
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

    /// Returns a query whose source shows what it does; nil if it has invisible characters, which can hide a part of
    /// it.
    private static func visible(_ query: String) -> String? {
        let isVisible = query.split(separator: "\n").allSatisfy { line in
            let line = line.filter { $0 != "\t" }
            return SafeText.line(line) == line
        }
        return isVisible ? query : nil
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
                switch finding.confidence {
                case .certain: "broke"
                case .likely: "probably broke"
                case .possible: "may have broken"
                }
            return "before transaction \(number), which \(verb) it"
        case .openTransaction: return "before the transaction that was not committed"
        case .statement(let number):
            return "after transaction \(number), before the statement below"
        }
    }

    /// A sentence about the state and the finding, for the terminal.
    var summary: String {
        let start =
            switch culprit.place {
            case .transaction(let number): "transaction \(number)"
            case .openTransaction: "the uncommitted transaction"
            case .statement: "the statement"
            }
        let kind =
            switch finding.confidence {
            case .certain: "finding"
            case .likely: "likely cause"
            case .possible: "possible cause"
            }
        return "The store is the one before \(start) of this \(kind): \(finding.line)"
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
