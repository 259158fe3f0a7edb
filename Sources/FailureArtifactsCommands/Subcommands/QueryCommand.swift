internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

struct QueryCommand: Command {
    static let syntax = Syntax(
        command: "query", summary: "Run one read-only statement on a store",
        positionals: [
            .bundle, Syntax.Positional("SQL", help: "A statement that changes nothing."),
        ],
        options: [
            .store, .commit,
            Syntax.Option(
                "--entities",
                help: "Query the entities of a Core Data store as tables, with readable names and dates."
            ),
            Syntax.Option(
                "--csv", help: "Print CSV (RFC 4180) with a header line, even on a terminal."),
            .json("Print a JSON array of objects, one row per line."), .timeLimit, .noLimits,
        ],
        alternatives: [["--csv", "--json"]],
        discussion: """
            On a terminal, prints a table, in which long values are cut; elsewhere CSV.

            In CSV, NULL is an empty field, an empty text is "", and a BLOB is X'0A1B'. In JSON, a BLOB is \
            {"base64": "Chs="}, integers are exact, infinities are 1e999, and columns of the same name get a number: \
            id, id_2.

            With --entities, each entity of a Core Data store, such as Fruit, is a table. It has the column _id, the \
            attributes, and a column for each relationship: the _id of one object, or a list of them. A table such as \
            Album.assets has the pairs of a many-to-many relationship. Dates are text. Names of columns are in lower \
            case; SQL ignores case.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let sql = arguments.positionals[1]
        let state = try state()
        return try console.withBundle(at: path) { bundle, scratch in
            let choice = try bundle.store(named: store)
            let file = try bundle.extract(choice, at: state, below: scratch)
            do {
                let connection = try Connection.untrusted(
                    file.path, limits: console.limits.store)
                if arguments.has("--entities") {
                    let warnings = try addEntities(
                        to: connection, of: choice, in: bundle.location)
                    for warning in warnings { try console.warn(SafeText.line(warning)) }
                }
                let statement = try connection.prepare(sql)
                guard statement.isReadOnly else {
                    throw CommandError(
                        .usage,
                        "'\(sql)' is not run: it changes the store, and 'query' only reads. 'failure-artifacts "
                            + "open' starts sqlite3 on a copy that may be changed.")
                }
                try write(statement, with: renderer(for: console.output))
            } catch let error as SQLiteError {
                throw CommandError(
                    error, sql: sql, store: choice, path: file.path,
                    bundle: bundle.location)
            }
            return .done
        }
    }

    private func addEntities(
        to connection: borrowing Connection, of choice: StoreChoice, in bundle: BundleLocation
    ) throws -> [String] {
        guard let store = try CoreDataStore.read(connection) else {
            throw CommandError(
                .usage,
                "The store '\(choice.name)' of '\(bundle)' is not a Core Data store: it has no entities."
            )
        }
        var views = CoreDataViews(store)
        return try views.create(on: connection)
    }

    private func renderer(for output: TextOutput) -> any RowRenderer {
        if isJSON { return JSONRowRenderer(output: output) }
        if !arguments.has("--csv"), let terminal = output.terminal {
            return TableRenderer(output: output, width: terminal.width)
        }
        return CSVRenderer(output: output)
    }

    private func write(_ statement: borrowing Statement, with renderer: any RowRenderer) throws {
        var renderer = renderer
        let columns = statement.columnNames
        // Reads the first row before writing the header, so that a statement that fails at once writes nothing.
        var hasRow = try statement.step()
        try renderer.begin(columns: columns)
        while hasRow {
            try renderer.write(row: columns.indices.map { statement.value(at: $0) })
            hasRow = try statement.step()
        }
        try renderer.end()
    }
}
