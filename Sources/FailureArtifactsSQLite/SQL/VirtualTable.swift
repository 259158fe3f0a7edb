/// A virtual table, as its definition describes it.
package struct VirtualTable: Sendable {
    /// The name of the module that provides its rows, in lower case; empty if it is quoted.
    package let module: String
    /// The folded names of the tables in which the module keeps the content; nil if the module isn't one of SQLite's.
    package let shadowTables: Set<String>?

    /// The suffixes that SQLite's modules append to a virtual table's name.
    private static let suffixes: [String: [String]] = [
        "fts3": ["content", "segments", "segdir"],
        "fts4": ["content", "segments", "segdir", "docsize", "stat"],
        "fts5": ["data", "idx", "content", "docsize", "config"],
        "rtree": ["node", "parent", "rowid"],
        "rtree_i32": ["node", "parent", "rowid"],
        "geopoly": ["node", "parent", "rowid"],
    ]
    private static let modulesWithoutContent: Set<String> = [
        "fts3tokenize", "fts4aux", "fts5vocab", "dbstat", "sqlite_dbpage", "json_each", "json_tree",
        "generate_series", "bytecode", "tables_used", "sqlite_stmt",
    ]

    /// Reads the definition of a table, which may be untrusted; nil if the table isn't virtual.
    package init?(_ name: String, definition: String) {
        var scanner = SQLScanner(definition)
        func nextWord() -> String? {
            while let token = scanner.next() {
                switch token.kind {
                case .space, .lineComment, .blockComment: continue
                case .word: return folded(scanner.text(of: token))
                default: return ""
                }
            }
            return nil
        }
        guard nextWord() == "create", nextWord() == "virtual" else { return nil }
        while let word = nextWord(), word != "using" {}
        module = nextWord() ?? ""
        let suffixes = Self.modulesWithoutContent.contains(module) ? [] : Self.suffixes[module]
        shadowTables = suffixes.map { Set($0.map { folded(name) + "_" + $0 }) }
    }
}
