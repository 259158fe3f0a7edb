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
        case .cached:
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
    /// The maximum difference of two counts.
    var most: Int?
    /// The exact value with the product.
    var becomes: String?

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
    var allowances: (Setting) -> [Allowance] = { _ in [] }
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
        let isCertain = stores.values.allSatisfy(\.isCertain)
        return Case(
            state: name, setting: setting.rawValue, stores: stores,
            allowances: [Allowance.extensions] + allowances(setting),
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
