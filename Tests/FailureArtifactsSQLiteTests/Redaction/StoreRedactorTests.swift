import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsSQLite

/// Searches the bytes of redacted stores for removed values.
@Suite struct StoreRedactorTests {
    /// A store that contains a secret, and the rules that must remove it.
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let sql: String
        let rules: RedactionRules
        /// A query and its result after the redaction.
        var check: (sql: String, result: String)?

        init(
            _ name: String, _ sql: String, tables: [String] = [],
            _ columns: [(String, String, RedactionRules.Method)] = [],
            check: (String, String)? = nil
        ) {
            testDescription = name
            self.sql = sql
            self.check = check
            var rules = RedactionRules()
            rules.tables = tables
            rules.columns = columns.map { .init(table: $0.0, column: $0.1, method: $0.2) }
            rules.salt = "salt"
            self.rules = rules
        }
    }

    /// A text that is long enough to occur nowhere else.
    ///
    /// Repeated often enough, it fills overflow pages.
    private static let secret = "S3CRET-token-value-of-a-person"
    private static let users =
        "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL, token TEXT); "
        + "INSERT INTO users VALUES (1, 'ann', '\(secret)'), (2, 'bob', NULL), (3, 'eve', '\(secret)')"

    static let cases: [Case] = [
        Case(
            "a dropped table", users + "; CREATE INDEX i ON users(token)", tables: ["USERS"],
            check: ("SELECT count(*) FROM sqlite_master", "0")),
        Case(
            "a blanked column", users, [("users", "token", .blank)],
            check: (
                "SELECT group_concat(id || name || quote(token)) FROM users",
                "1annNULL,2bobNULL,3eveNULL"
            )),
        Case(
            "a masked column", users, [("users", "token", .mask)],
            check: (
                "SELECT quote(token) FROM users",
                "'******************************'\nNULL\n'******************************'"
            )),
        Case(
            "a hashed column", users, [("users", "token", .hash)],
            check: (
                "SELECT count(DISTINCT token), max(length(token)), count(token) FROM users", "1|32|2"
            )),
        Case(
            "patterns", users, [("us?rs", "*TOK[a-z]n", .blank)],
            check: ("SELECT count(token) FROM users", "0")),
        Case(
            "the strictest of several",
            users, [("users", "token", .hash), ("*", "token", .blank), ("users", "*en", .mask)],
            check: ("SELECT count(token) FROM users", "0")),
        Case(
            "NOT NULL and STRICT",
            """
            CREATE TABLE t(a TEXT NOT NULL, b INTEGER NOT NULL, c BLOB NOT NULL, d REAL NOT NULL, e ANY) STRICT;
            INSERT INTO t VALUES ('\(secret)', 7, CAST('\(secret)' AS BLOB), 2.5, '\(secret)')
            """, [("t", "*", .blank)],
            check: (
                "SELECT quote(a), quote(b), quote(c), quote(d), quote(e) FROM t", "''|0|X''|0.0|NULL"
            )),
        Case(
            "hashes keep the types of STRICT columns",
            """
            CREATE TABLE t(a TEXT NOT NULL, b INTEGER NOT NULL, c BLOB NOT NULL, d REAL NOT NULL) STRICT;
            INSERT INTO t VALUES ('\(secret)', 7, CAST('\(secret)' AS BLOB), 2.5)
            """, [("t", "*", .hash)],
            check: (
                "SELECT typeof(a), b <> 7 AND typeof(b) = 'integer', length(c), d <> 2.5 FROM t",
                "text|1|32|1"
            )),
        Case(
            "a key and a foreign key, hashed alike",
            """
            CREATE TABLE u(mail TEXT PRIMARY KEY); CREATE TABLE o(n, mail REFERENCES u ON UPDATE CASCADE);
            INSERT INTO u VALUES ('\(secret)'), ('x'); INSERT INTO o VALUES (1, '\(secret)')
            """, [("*", "mail", .hash)],
            check: ("SELECT count(*) FROM o JOIN u USING (mail)", "1")),
        Case(
            "a key cannot be blanked",
            """
            CREATE TABLE u(mail TEXT PRIMARY KEY, n) WITHOUT ROWID;
            INSERT INTO u VALUES ('\(secret)', 1), ('\(secret)2', 2)
            """, [("u", "mail", .blank)], check: ("SELECT count(DISTINCT mail) FROM u", "2")),
        Case(
            "an integer key",
            users, [("users", "id", .mask), ("users", "token", .blank)],
            check: ("SELECT count(DISTINCT id), min(id) > 3 FROM users", "3|1")),
        Case(
            "unique indexes, one of them on an expression",
            """
            CREATE TABLE u(mail TEXT NOT NULL UNIQUE, other TEXT NOT NULL);
            CREATE UNIQUE INDEX i ON u(lower(other));
            INSERT INTO u VALUES ('\(secret)', '\(secret)1'), ('\(secret)2', '\(secret)3')
            """, [("u", "*", .mask)],
            check: ("SELECT count(DISTINCT mail), count(DISTINCT other) FROM u", "2|2")),
        Case(
            "indexes, on expressions and partial ones",
            users
                + "; CREATE INDEX i ON users(token, name); CREATE INDEX j ON users(upper(token)); "
                + "CREATE INDEX k ON users(token) WHERE token LIKE 'S%'",
            [("users", "token", .mask)],
            check: (
                "SELECT count(*) FROM users INDEXED BY i WHERE token = '******************************'",
                "2"
            )),
        Case(
            "generated columns",
            """
            CREATE TABLE t(a TEXT, b TEXT AS (a || '!') STORED, c TEXT AS (a || '?'));
            CREATE INDEX i ON t(b); CREATE INDEX j ON t(c); INSERT INTO t VALUES ('\(secret)')
            """, [("t", "a", .blank)], check: ("SELECT quote(b), quote(c) FROM t", "NULL|NULL")),
        Case(
            "a CHECK that the result does not pass",
            "CREATE TABLE t(a TEXT NOT NULL CHECK (length(a) = 30)); INSERT INTO t VALUES ('\(secret)')",
            [("t", "a", .blank)], check: ("SELECT quote(a) FROM t", "''")),
        Case(
            "triggers that would tell",
            users
                + "; CREATE TABLE log(old); CREATE TRIGGER tr AFTER UPDATE ON users "
                + "BEGIN INSERT INTO log VALUES (old.token); END",
            [("users", "token", .blank)],
            check: (
                "SELECT (SELECT count(*) FROM log), (SELECT count(*) FROM sqlite_master WHERE type = 'trigger')",
                "0|1"
            )),
        Case(
            "a view stays", users + "; CREATE VIEW v AS SELECT token FROM users",
            [("users", "token", .blank)], check: ("SELECT count(*), count(token) FROM v", "3|0")),
        Case(
            "FTS5 over another table",
            users
                + "; CREATE VIRTUAL TABLE f USING fts5(token, content='users', content_rowid='id'); "
                + "INSERT INTO f(f) VALUES ('rebuild')",
            [("users", "token", .blank)],
            check: ("SELECT group_concat(name) FROM sqlite_master", "users")),
        Case(
            "FTS5 with its own content",
            "CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES ('\(secret)')",
            [("f", "body", .blank)], check: ("SELECT count(*) FROM sqlite_master", "0")),
        Case(
            "FTS4, dropped by a pattern for its content",
            "CREATE VIRTUAL TABLE f USING fts4(body); INSERT INTO f VALUES ('\(secret)')",
            tables: ["*_content"], check: ("SELECT count(*) FROM sqlite_master", "0")),
        Case(
            "FTS5 is kept where nothing is redacted",
            "PRAGMA secure_delete = 0; CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES ('apple pear'); "
                + "CREATE TABLE gone(a); INSERT INTO gone VALUES ('\(secret)'); DROP TABLE gone",
            tables: ["gone"], check: ("SELECT body FROM f WHERE f MATCH 'pear'", "apple pear")),
        Case(
            "samples of ANALYZE",
            users
                + "; CREATE INDEX i ON users(token); ANALYZE; "
                + "CREATE TABLE IF NOT EXISTS dummy(a); PRAGMA writable_schema = 1; "
                + "INSERT INTO sqlite_master VALUES ('table', 'sqlite_stat4', 'sqlite_stat4', 0, 'x'); "
                + "DELETE FROM sqlite_master WHERE sql = 'x'; PRAGMA writable_schema = 0",
            [("users", "token", .mask)]),
        Case(
            "rows that were deleted before",
            users + "; PRAGMA secure_delete = 0; DELETE FROM users WHERE token IS NOT NULL",
            [("users", "token", .blank)], check: ("SELECT count(*) FROM users", "1")),
        Case(
            "a table that was dropped before",
            "PRAGMA secure_delete = 0; \(users); CREATE TABLE other(a); DROP TABLE users",
            [("users", "token", .blank)], check: ("SELECT name FROM sqlite_master", "other")),
        Case(
            "overflow pages and their ends",
            """
            PRAGMA page_size = 512; PRAGMA secure_delete = 0; CREATE TABLE t(a, b);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 200)
            INSERT INTO t SELECT n, replace(hex(zeroblob(n)), '00', '\(secret)') FROM c;
            DELETE FROM t WHERE a % 3 = 0; UPDATE t SET b = substr(b, 1, 100) WHERE a % 3 = 1
            """, [("t", "b", .hash)], check: ("SELECT count(DISTINCT b), max(length(b)) FROM t", "69|32")
        ),
        Case(
            "UTF-16",
            "PRAGMA encoding = 'UTF-16le'; \(users); CREATE INDEX i ON users(token)",
            [("users", "token", .mask)],
            check: ("SELECT count(*), max(length(token)) FROM users", "3|30")),
        Case(
            "auto_vacuum, user_version and application_id",
            "PRAGMA auto_vacuum = full; \(users); PRAGMA user_version = 7; PRAGMA application_id = 9",
            [("users", "token", .blank)],
            check: (
                "SELECT auto_vacuum, user_version, application_id FROM pragma_auto_vacuum, pragma_user_version, "
                    + "pragma_application_id", "1|7|9"
            )),
        Case(
            "names that need quotes",
            "CREATE TABLE \"a\"\"b; --\"(\"c\"\"d\" TEXT); INSERT INTO \"a\"\"b; --\" VALUES ('\(secret)')",
            [("a\"b; --", "c\"d", .mask)],
            check: ("SELECT length(\"c\"\"d\") FROM \"a\"\"b; --\"", "30")),
    ]

    @Test(arguments: cases) func nothingIsLeft(of content: Case) throws {
        try withTemporaryDirectory { directory in
            let (copy, target) = (directory + "/copy.sqlite", directory + "/target.sqlite")
            try make(copy, content.sql)
            let given = try FileSystem.contents(ofFile: copy)
            try #require(Self.holds(given, Self.secret), "There was no secret to begin with.")
            let result = try StoreRedactor(content.rules).redact(copy, to: target)
            let left = try FileSystem.contents(ofFile: target)
            #expect(!Self.holds(left, Self.secret))
            #expect(try FileSystem.status(of: target)?.permissions == 0o600)
            #expect(
                try sqlite3Program(
                    target,
                    "PRAGMA ignore_check_constraints = 1; PRAGMA integrity_check; PRAGMA journal_mode")
                    == "ok\ndelete")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 2)
            if let check = content.check {
                #expect(try sqlite3Program(target, check.sql) == check.result)
            }
            // The search covers the removed values.
            let deadline = Instant.now.advanced(bySeconds: 10)
            let found = try result.removed.origins(inFile: target, until: deadline)
            #expect(found == [])
        }
    }

    /// Makes a store with the `sqlite3` program.
    private func make(_ path: String, _ sql: String) throws {
        let said = try sqlite3Program(path, sql)
        try #require(!said.contains("rror"), "\(said)")
    }

    /// Returns true if the bytes contain the text in any of SQLite's encodings.
    private static func holds(_ bytes: [UInt8], _ text: String) -> Bool {
        let data = Data(bytes)
        let little = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        return data.range(of: Data(text.utf8)) != nil || data.range(of: Data(little)) != nil
    }

    @Test func everythingElseStaysAsItIs() throws {
        try withTemporaryDirectory { directory in
            let (copy, target) = (directory + "/copy.sqlite", directory + "/target.sqlite")
            let others = """
                CREATE TABLE kept(a, b TEXT COLLATE NOCASE, PRIMARY KEY (b)) WITHOUT ROWID;
                INSERT INTO kept VALUES (1.5, 'x'), (x'00ff', 'Y');
                CREATE TABLE rows(a); INSERT INTO rows(rowid, a) VALUES (7, 'seven'), (3, NULL), (9, '');
                CREATE INDEX by_a ON rows(a DESC) WHERE a IS NOT NULL;
                CREATE VIEW v AS SELECT * FROM kept, rows;
                """
            try make(copy, Self.users + ";" + others)
            let dump =
                "SELECT rowid, quote(a) FROM rows; SELECT quote(a), b FROM kept; SELECT * FROM v; "
            let schema =
                "SELECT type, name, sql FROM sqlite_master WHERE tbl_name <> 'users' ORDER BY name"
            let before = try sqlite3Program(copy, dump + schema)
            var rules = RedactionRules()
            rules.tables = ["users"]
            let result = try StoreRedactor(rules).redact(copy, to: target)
            #expect(try sqlite3Program(target, dump + schema) == before)
            #expect(result.summaries == ["users: dropped"])
            #expect(result.notes == [])
        }
    }

    @Test func whatIsDoneIsSaid() throws {
        try withTemporaryDirectory { directory in
            let (copy, target) = (directory + "/copy.sqlite", directory + "/target.sqlite")
            try make(
                copy,
                Self.users + "; CREATE VIRTUAL TABLE f USING fts5(a); CREATE TABLE gone(a)")
            var rules = RedactionRules()
            rules.tables = ["gone"]
            rules.columns = [
                .init(table: "*", column: "token", method: .mask),
                .init(table: "users", column: "id", method: .blank),
            ]
            let result = try StoreRedactor(rules).redact(copy, to: target)
            #expect(
                result.summaries == [
                    "users.id: hashed", "users.token: masked", "gone: dropped", "f: dropped",
                ])
            #expect(
                result.notes.map(\.text) == [
                    "The values of 'users.id' must differ from each other, so that they are hashed.",
                    "The virtual table 'f' was dropped: it may hold what was redacted elsewhere.",
                ])
            #expect(
                result.notes.map(\.code) == [
                    CaptureWarning.Code.uniqueValuesHashed.rawValue,
                    CaptureWarning.Code.virtualTableDropped.rawValue,
                ])
            #expect(result.names.isSuperset(of: ["users", "token", "gone", "f", "f_data"]))
        }
    }

    /// Finds a value that an application has copied to a place that no rule names.
    @Test func whatIsStillThereIsFound() throws {
        try withTemporaryDirectory { directory in
            let (copy, target) = (directory + "/copy.sqlite", directory + "/target.sqlite")
            try make(
                copy,
                Self.users + "; CREATE TABLE log(line); INSERT INTO log SELECT 'by ' || token FROM users"
            )
            var rules = RedactionRules()
            rules.columns = [.init(table: "users", column: "*", method: .hash)]
            let removed = try StoreRedactor(rules).redact(copy, to: target).removed
            let deadline = Instant.now.advanced(bySeconds: 10)
            #expect(try removed.origins(inFile: target, until: deadline) == ["users.token"])
        }
    }

    /// The search covers values by their sizes in UTF-8, not by their numbers of characters.
    @Test(arguments: [
        ("UTF-8", "果物市場", 1, true), ("UTF-8", "果物", 170, true), ("UTF-8", "果物", 300, false),
        ("UTF-8", "abcdefg", 1, false), ("UTF-16le", "果物市場", 1, true),
        ("UTF-16le", "果物", 300, false), ("UTF-16be", "abcdefg", 1, false),
        ("UTF-16be", "abcdefgh", 1, true),
    ])
    func sizesOfRemovedValuesAreInBytes(
        _ encoding: String, _ word: String, count: Int, isFound: Bool
    ) throws {
        let value = String(repeating: word, count: count)
        try withTemporaryDirectory { directory in
            let (copy, target) = (directory + "/copy.sqlite", directory + "/target.sqlite")
            try make(
                copy,
                "PRAGMA encoding = '\(encoding)'; CREATE TABLE t(c); INSERT INTO t VALUES ('\(value)'); "
                    + "CREATE TABLE log(line); INSERT INTO log SELECT c FROM t")
            var rules = RedactionRules()
            rules.columns = [.init(table: "t", column: "c", method: .hash)]
            let removed = try StoreRedactor(rules).redact(copy, to: target).removed
            let deadline = Instant.now.advanced(bySeconds: 10)
            #expect(
                try removed.origins(inFile: target, until: deadline) == (isFound ? ["t.c"] : []))
        }
    }

    /// Stores that cannot be redacted are not copied.
    @Test(arguments: [
        (
            "CREATE TABLE t(a TEXT, b TEXT, c TEXT AS (a || b)); INSERT INTO t(a, b) VALUES ('x', 'y')",
            "'t.c' is computed from others"
        ),
        (
            "CREATE TABLE t(c); PRAGMA writable_schema = 1; INSERT INTO sqlite_master "
                + "VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING unknown_module(a)')",
            "the module 'unknown_module'"
        ),
        (
            "CREATE TABLE t(c); PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = "
                + "'CREATE TABLE t(c TEXT UNIQUE COLLATE application)'; ",
            "SQLite says"
        ),
        (
            "CREATE TABLE t(c); INSERT INTO t VALUES (1); PRAGMA writable_schema = 1; "
                + "INSERT INTO sqlite_master VALUES ('index', 'i', 't', 99, 'CREATE INDEX i ON t(application(c))')",
            "SQLite says"
        ),
        (
            "CREATE TABLE t(c); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
                + "INSERT INTO t SELECT i FROM n", "longer than 0.0 s"
        ),
    ])
    func whatCannotBeRedactedIsNotWritten(_ sql: String, _ reason: String) throws {
        try withTemporaryDirectory { directory in
            let (copy, target) = (directory + "/copy.sqlite", directory + "/target.sqlite")
            try make(copy, sql)
            try expectRefusal(copy, target, reason, timeLimit: reason.contains("longer") ? 0 : 10)
        }
    }

    @Test func noDatabaseIsNotWritten() throws {
        try withTemporaryDirectory { directory in
            let (copy, target) = (directory + "/copy.sqlite", directory + "/target.sqlite")
            try FileSystem.write(Array(repeating: 0x41, count: 5000), toNewFile: copy)
            try expectRefusal(copy, target, "not a database")
            try #require(throws: RedactionError.self) {
                try StoreRedactor(RedactionRules()).redact(directory + "/missing", to: target)
            }
        }
    }

    private func expectRefusal(
        _ copy: String, _ target: String, _ reason: String, timeLimit: Double = 10
    ) throws {
        var rules = RedactionRules()
        rules.columns = [.init(table: "t", column: "c", method: .mask)]
        let error = try #require(throws: RedactionError.self) {
            try StoreRedactor(rules, timeLimit: timeLimit).redact(copy, to: target)
        }
        #expect(error.description.contains(reason), "\(error)")
        #expect(try FileSystem.status(of: target) == nil)
    }

    // MARK: Hashes

    @Test func hashesAreThoseOfPython() throws {
        var random = SplitMix(seed: 20_261_121)
        var lines: [String] = []
        var expected: [String] = []
        for count in Array(0...130) + [1000, 65_537] {
            let message = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let key = (0..<Int.random(in: 0...140, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            func hexadecimal(_ bytes: [UInt8]) -> String {
                bytes.map { String(format: "%02x", $0) }.joined()
            }
            lines.append(hexadecimal(key) + " " + hexadecimal(message))
            expected.append(hexadecimal(RedactionRules.hash(message, key: key)))
        }
        try withTemporaryDirectory { directory in
            let file = directory + "/messages"
            try FileSystem.write(Array(lines.joined(separator: "\n").utf8), toNewFile: file)
            let script = """
                import hashlib, hmac, sys
                for line in open(sys.argv[1]):
                    key, message = (bytes.fromhex(text) for text in line.rstrip("\\n").split(" "))
                    print(hmac.new(key, message, hashlib.sha256).hexdigest())
                """
            #expect(
                try run("python3", "-c", script, file) == expected.joined(separator: "\n"),
                "seed 20261121")
        }
    }

    @Test func eachTypeHasItsHash() throws {
        try withTemporaryDirectory { directory in
            let (copy, target) = (directory + "/copy.sqlite", directory + "/target.sqlite")
            try make(
                copy,
                "CREATE TABLE t(a); INSERT INTO t VALUES ('Größe'), (-12), (x'00ff'), (0.1), (NULL), (''), (x'')"
            )
            var rules = RedactionRules()
            rules.columns = [.init(table: "t", column: "a", method: .hash)]
            rules.salt = "pepper"
            _ = try StoreRedactor(rules).redact(copy, to: target)
            let script = """
                import hashlib, hmac, sqlite3, struct, sys
                def digest(message): return hmac.new(b"pepper", message, hashlib.sha256).digest()
                def bits(message, count): return int.from_bytes(digest(message)[:8], "big") >> (64 - count)
                expected = [
                    digest("Größe".encode())[:16].hex(), bits(b"-12", 62), digest(b"\\0\\xff"),
                    float(bits(struct.pack(">d", 0.1), 53)), None, digest(b"")[:16].hex(), digest(b"")]
                found = [row[0] for row in sqlite3.connect(sys.argv[1]).execute("SELECT a FROM t")]
                print(found == expected or (found, expected))
                """
            #expect(try run("python3", "-c", script, target) == "True")
        }
    }

    @Test func withoutASaltNobodyKnowsTheHashes() throws {
        try withTemporaryDirectory { directory in
            var rules = RedactionRules()
            rules.columns = [.init(table: "users", column: "token", method: .hash)]
            var found: Set<String> = []
            for (index, salt) in [nil, nil, "", "a"].enumerated() {
                let (copy, target) = (directory + "/copy\(index)", directory + "/target\(index)")
                try make(copy, Self.users)
                rules.salt = salt
                _ = try StoreRedactor(rules).redact(copy, to: target)
                found.insert(try sqlite3Program(target, "SELECT token FROM users WHERE id = 1"))
            }
            // The random key is the same within a process.
            #expect(found.count == 3)
        }
    }
}
