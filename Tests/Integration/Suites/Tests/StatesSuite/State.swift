/// The rows of every store before a state adds one.
let base = ["apple", "banana"]
/// The same rows and the one that a state adds.
let added = base + ["pear"]

/// The means by which a store may be copied, by the state of its connection.
enum Rule {
    /// The files are read and a store without one is described: the connection is left alone.
    case untouched
    /// The connection's own view is serialized, the committed state is read from the files.
    case serialized
    /// The snapshot of a read transaction, and the committed state if that differs.
    case readSnapshot
    /// The committed state is the only one.
    case committedOnly
}

/// The content that a bundle must have of one store.
struct Expected: Encodable {
    /// The table whose rows are compared.
    var table = "fruit"
    /// The rows that the connection sees.
    ///
    /// Where the copy has others, a warning must say so.
    var own: [String]
    /// The rows of the copy, or several acceptable lists; none where the store must be described.
    var copies: [[String]]
    /// The rows of the copy of the committed state; none where there must not be such a copy.
    var committed: [[String]] = []
    var mayLackCommitted = false
    var mayBeDescribed = false
    /// True if the copy may have other rows as long as it is not called consistent.
    var mayBeInconsistent = false

    /// True if there is only one right content, and it is all that the connection sees.
    var isCertain: Bool {
        copies == [own] && !mayBeDescribed && !mayBeInconsistent && !mayLackCommitted
    }

    init(_ rule: Rule, own: [String], committed state: [String], in setting: Setting) {
        self.own = own
        switch rule {
        case .untouched:
            copies = setting.isFile ? [state] : []
            mayBeInconsistent = setting.lacksJournalFile
        case .serialized:
            copies = [own]
            committed = setting.isFile ? [state] : []
        case .readSnapshot:
            copies = [own]
            committed = own == state ? [] : [state]
        case .committedOnly: copies = [state]
        }
    }
}

/// An effect of the capture that can't be avoided.
///
/// An exact number must be met: an allowance that is not needed any more is a failure.
struct Allowance: Encodable {
    /// The observation's name.
    let observation: String
    /// The exact difference of two counts.
    var more: Int?
    /// The greatest difference of two counts.
    var most: Int?
    /// The exact value with the product.
    var becomes: String?

    /// A callback that is called more often while the failure is reported, or in another phase.
    static func calls(
        _ event: Event, more: Int? = nil, most: Int? = nil, phase: String = "after",
        of connection: String = "a"
    ) -> Allowance {
        Allowance(
            observation: "\(phase): \(connection) calls of \(event.rawValue)", more: more, most: most)
    }

    /// The copy of what a transaction has not committed, by one call of `sqlite3_serialize`.
    ///
    /// It compiles and runs `PRAGMA page_count`, for which SQLite calls the authorizer once and makes six instructions.
    static let serialization = [calls(.authorizer, more: 1), calls(.progress, more: 6)]

    /// The restoration of the error that the connection had before it was serialized, by a function that fails.
    ///
    /// SQLite calls the authorizer for the SELECT and for the function.
    static let restoration = [calls(.authorizer, more: 3), calls(.progress, more: 9)]

    /// SQLite's answer after a row, which becomes the one after a statement that has ended.
    static let rowIsForgotten = [
        Allowance(observation: "after: a errcode", becomes: "0"),
        Allowance(observation: "after: a extended errcode", becomes: "0"),
        Allowance(observation: "after: a errmsg", becomes: "not an error"),
    ]

    /// The same where it may fail, and be tried again.
    static let attempts = [calls(.authorizer, most: 2), calls(.progress, most: 12)]

    /// The state that is kept when a transaction is rolled back or a store without a file closed.
    static func keeping(_ phase: String, of connection: String = "a") -> [Allowance] {
        [
            calls(.authorizer, more: 1, phase: phase, of: connection),
            calls(.progress, more: 6, phase: phase, of: connection),
        ]
    }

    /// Messages in SQLite's error log, by their codes.
    static func logs(_ codes: String) -> Allowance {
        Allowance(observation: "after: error log", becomes: codes)
    }

    /// SQLite calls an application's automatic extensions for every connection that the capture opens.
    static let extensions = Allowance(observation: "after: calls of the automatic extension", most: 9)
}

/// One row of the table: a state that a connection is in when its test fails.
struct State {
    let name: String
    let rule: Rule
    var settings = Setting.allCases
    /// The rows that the connection sees at the failure.
    var own = base
    /// The rows that other connections see.
    var committed = base
    /// Effects beyond those that follow from the rule.
    var allowances: [Allowance] = []
    /// The effects of keeping states: by default, of a store without a file when it is closed.
    var keeping: (Setting) -> [Allowance] = { $0.isFile ? [] : Allowance.keeping("closed") }
    /// True if ``allowances`` has those of serializing in it.
    var replacesSerialization = false
    /// True if the bundle may have warnings although all of its copies are as they should be.
    var mayWarn = false
    /// Changes the expectations that follow from the rule, by the stores' labels.
    var adjustment: (Setting, inout [String: Expected]) -> Void = { _, _ in }
    /// Brings a connection into the state, fails, and goes on.
    let body: (Scenario) throws -> Void

    /// The table's row for one setting, as the checks read it.
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

/// One run of a state, as the checks read it.
struct Case: Encodable {
    let state: String
    let setting: String
    let stores: [String: Expected]
    let allowances: [Allowance]
    let mayWarn: Bool
}
