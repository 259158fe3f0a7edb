/// The rows of every store before a state adds one.
let base = ["apple", "banana"]
/// The same rows, and the row that a state adds.
let added = base + ["pear"]

/// The capture strategy that a state of the connection allows.
enum Rule {
    /// The committed state is read from the files, or was recorded. The connection isn't used.
    case untouched
    /// The connection's own view is read from its page cache, and the committed state from the files.
    case cached
    /// The connection's own view is serialized, and the committed state is read from the files.
    case serialized
    /// The snapshot of a read transaction, and the committed state if that differs.
    case readSnapshot
    /// The committed state is the only one.
    case committedOnly
}

/// The required content of one store in a bundle.
struct Expected: Encodable {
    /// The table whose rows are compared.
    var table = "fruit"
    /// The rows that the connection sees.
    ///
    /// If the copy has different rows, a warning must say so.
    var own: [String]
    /// The rows that all other connections see, or would see.
    var others: [String]
    /// The copy's acceptable lists of rows; empty if the store must only be described.
    var copies: [[String]]
    /// The acceptable lists of rows of the committed state's copy; empty if there must be no such copy.
    var committed: [[String]] = []
    var mayLackCommitted = false
    var mayBeDescribed = false
    /// True if the copy may have other rows, as long as it is marked as inconsistent.
    var mayBeInconsistent = false

    /// True if only one content is correct: all rows that the connection sees.
    var isCertain: Bool {
        copies == [own] && !mayBeDescribed && !mayBeInconsistent && !mayLackCommitted
    }

    init(_ rule: Rule, own: [String], committed state: [String], in setting: Setting) {
        self.own = own
        others = state
        switch rule {
        case .untouched:
            copies = [state]
            mayBeInconsistent = setting.lacksJournalFile
        case .cached, .serialized:
            copies = [own]
            // Without a file, it was recorded.
            committed = [state]
        case .readSnapshot:
            copies = [own]
            committed = own == state ? [] : [state]
        case .committedOnly: copies = [state]
        }
    }
}

/// An unavoidable effect of the capture.
///
/// Exact numbers must be met, so that an unnecessary allowance is a failure.
struct Allowance: Encodable {
    /// The observation's name.
    let observation: String
    /// The exact difference of two counts.
    var more: Int?
    /// The maximum difference of two counts.
    var most: Int?
    /// The exact value with the product.
    var becomes: String?

    /// Allows more calls of a callback while the failure is reported, or in another phase.
    static func calls(
        _ event: Event, more: Int? = nil, most: Int? = nil, phase: String = "after",
        of connection: String = "a"
    ) -> Allowance {
        Allowance(
            observation: "\(phase): \(connection) calls of \(event.rawValue)", more: more, most: most)
    }

    /// The effects of copying uncommitted changes with one call of `sqlite3_serialize`.
    ///
    /// It compiles and runs `PRAGMA page_count`. SQLite calls the authorizer once and runs six instructions
    /// for it.
    static let serialization = [calls(.authorizer, more: 1), calls(.progress, more: 6)]

    /// The effects of restoring the connection's previous error after serialization, with a function that
    /// fails.
    ///
    /// SQLite calls the authorizer for the SELECT and for the function.
    static let restoration = [calls(.authorizer, more: 3), calls(.progress, more: 9)]

    /// SQLite's result after a row becomes the result after a completed statement.
    static let rowIsForgotten = [
        Allowance(observation: "after: a errcode", becomes: "0"),
        Allowance(observation: "after: a extended errcode", becomes: "0"),
        Allowance(observation: "after: a errmsg", becomes: "not an error"),
    ]

    /// The effects of serialization if it may fail and be repeated.
    static let attempts = [calls(.authorizer, most: 2), calls(.progress, most: 12)]

    /// The effects of saving a state before a transaction is rolled back or a store without a file is closed.
    static func keeping(_ phase: String, of connection: String = "a") -> [Allowance] {
        [
            calls(.authorizer, more: 1, phase: phase, of: connection),
            calls(.progress, more: 6, phase: phase, of: connection),
        ]
    }

    /// Allows messages in SQLite's error log, given by their codes.
    static func logs(_ codes: String) -> Allowance {
        Allowance(observation: "after: error log", becomes: codes)
    }

    /// SQLite calls an application's automatic extensions for every connection that the capture opens.
    static let extensions = Allowance(observation: "after: calls of the automatic extension", most: 9)
}

/// A row of the table: a connection's state when its test fails.
struct State {
    let name: String
    let rule: Rule
    var settings = Setting.allCases
    /// The rows that the connection sees at the failure.
    var own = base
    /// The rows that other connections see.
    var committed = base
    /// Effects in addition to those of the rule.
    var allowances: [Allowance] = []
    /// The effects of saving states; by default, when a store without a file is closed.
    var keeping: (Setting) -> [Allowance] = { $0.isFile ? [] : Allowance.keeping("closed") }
    /// True if ``allowances`` includes the effects of serialization.
    var replacesSerialization = false
    /// True if the bundle may have warnings although all copies are correct.
    var mayWarn = false
    /// Changes the expectations of the rule, by the stores' labels.
    var adjustment: (Setting, inout [String: Expected]) -> Void = { _, _ in }
    /// Brings a connection into the state, fails, and continues.
    let body: (Scenario) throws -> Void

    /// Returns the table's row for one setting, in the form that the checks read.
    func description(in setting: Setting) -> Case {
        let label = setting.isFile ? "shop" : setting == .temporary ? "temporary" : "memory"
        var stores = [label: Expected(rule, own: own, committed: committed, in: setting)]
        adjustment(setting, &stores)
        var effects = [Allowance.extensions] + allowances + keeping(setting)
        let isCertain = stores.values.allSatisfy(\.isCertain)
        if rule == .serialized, !replacesSerialization {
            effects += isCertain ? Allowance.serialization : Allowance.attempts
        }
        return Case(
            state: name, setting: setting.rawValue, stores: stores,
            allowances: effects,
            mayWarn: mayWarn || !isCertain)
    }
}

/// One run of a state, in the form that the checks read.
struct Case: Encodable {
    let state: String
    let setting: String
    let stores: [String: Expected]
    let allowances: [Allowance]
    let mayWarn: Bool
}
