internal import CFailureArtifactsCapture
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A database of an application's connection: its main, its temporary or an attached database.
struct ConnectedDatabase {
    /// A key that is equal for all connections to the same database.
    enum Key: Hashable {
        case file(FileStatus.Identity)
        case path(String)
        case sharedMemory(String)
        case pager(UInt)
    }

    let key: Key
    let schema: String
    let storage: StoreCopy.Storage
    let path: String?
    let identity: FileStatus.Identity?
    /// The name of a database whose file does not provide one.
    let name: String?
    /// The transaction that its connection has open in it; nil if another thread uses the connection.
    let transaction: TransactionKind?
    /// The name of a database that several connections share.
    var sharedName: String? { storage == .memory && name == nil ? "shared-memory" : name }

    static func all(of connection: DiscoveredConnection) -> [ConnectedDatabase] {
        let main = ConnectedDatabase(mainOf: connection)
        let all = try? connection.lend(until: .now, waitsForRest: false) { borrowed in
            var databases: [ConnectedDatabase] = []
            var index: CInt = 0
            while let name = failure_artifacts_schema_name(borrowed.record, index) {
                let schema = String(cString: name)
                if let database = ConnectedDatabase(schema: schema, of: connection, borrowed, main: main)
                {
                    databases.append(database)
                }
                index += 1
            }
            return databases
        }
        guard let all, !all.isEmpty else { return [main] }
        return all
    }

    /// Describes the main database of a connection that can't be used.
    private init(mainOf connection: DiscoveredConnection) {
        schema = "main"
        path = connection.path
        identity = connection.identity
        storage = path == nil ? .memory : .file
        name = nil
        transaction = nil
        key =
            switch connection.main {
            case .file(let path, let identity): identity.map { .file($0) } ?? .path(path)
            case .memory(let pager): .pager(pager)
            }
    }

    /// Describes one database of a connection; nil for a temporary database that was never used.
    private init?(
        schema: String, of connection: DiscoveredConnection, _ borrowed: BorrowedHandle,
        main: ConnectedDatabase
    ) {
        var database = failure_artifacts_database()
        guard failure_artifacts_has_database(borrowed.record, schema, &database) else { return nil }
        let path = DiscoveredConnection.path(of: schema, on: borrowed.record)
        self.schema = schema
        self.path = path
        transaction = borrowed.transaction(in: schema)
        guard path == nil else {
            identity =
                path == main.path
                ? main.identity : path.flatMap { try? FileSystem.status(of: $0)?.identity }
            storage = .file
            name = nil
            key = identity.map { .file($0) } ?? path.map { .path($0) } ?? main.key
            return
        }
        identity = nil
        // In the memory VFS, the names of shared databases begin with a slash.
        let sharedName = database.name.map { String(cString: $0) } ?? ""
        if database.is_in_memory_vfs, sharedName.hasPrefix("/") {
            key = .sharedMemory(sharedName)
            storage = .memory
            name = Path.name(of: sharedName)
            return
        }
        key = .pager(UInt(bitPattern: database.file))
        storage =
            schema == "temp" || !failure_artifacts_is_in_memory(borrowed.record, schema)
            ? .temporary : .memory
        name =
            switch schema {
            case "main": storage == .temporary ? "temporary" : nil
            case "temp":
                (main.path.map { Path.stem(of: Path.name(of: $0)) } ?? "memory") + ".temp"
            default: schema
            }
    }
}

extension DiscoveredStore {
    /// Returns the stores of some connections, in the order in which they were first opened.
    ///
    /// Call it on the test's thread.
    ///
    /// - `connections`: the connections, in the order they were opened. All connections to one file make one
    ///   store, and so do all connections to one shared cache.
    static func grouping(_ connections: [DiscoveredConnection]) -> [DiscoveredStore] {
        var order: [ConnectedDatabase.Key] = []
        var groups: [ConnectedDatabase.Key: (ConnectedDatabase, [Access])] = [:]
        for connection in connections {
            for database in ConnectedDatabase.all(of: connection) {
                let access = Access(
                    connection: connection, schema: database.schema, transaction: database.transaction)
                if groups[database.key] == nil { order.append(database.key) }
                groups[database.key, default: (database, [])].1.append(access)
            }
        }
        return order.compactMap { key in groups[key].map { DiscoveredStore($0.0, $0.1) } }
    }

    /// Returns the stores whose files are open in this process although no connection to them is known.
    ///
    /// Another copy of SQLite has opened them.
    static func openedByOthers(than known: [DiscoveredStore]) -> [DiscoveredStore] {
        let identities = Set(known.compactMap(\.identity))
        func find() -> [OpenFiles.Entry] {
            let files = OpenFiles.beginning(with: DatabaseHeader.magic)
                .filter { !identities.contains($0.status.identity) && !$0.isTemporaryDatabase }
            if files.isEmpty { return [] }
            // Read after the files, so that it includes files opened by other threads in the meantime.
            let registered = ConnectionRegistry.shared.knownFiles
            return files.filter { !registered.contains($0.status.identity) }
        }
        var unknown = find()
        // Other threads may be in the middle of opening or closing a file, which is soon over.
        for _ in 0..<3 where !unknown.isEmpty {
            sleep(microseconds: 1000)
            let remaining = Set(find().map(\.status.identity))
            unknown.removeAll { !remaining.contains($0.status.identity) }
        }
        return unknown.map(DiscoveredStore.init)
    }
}
