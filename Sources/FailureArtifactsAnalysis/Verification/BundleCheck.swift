internal import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

package struct BundleCheck: Encodable, Equatable, Sendable {
    package var bundle: String
    package var ok = true
    package var problems: [String] = []
    package var notes: [String] = []

    package init(_ location: BundleLocation, problem: String) {
        bundle = location.description
        ok = false
        problems = [problem]
    }

    /// Checks all content of a bundle, one store at a time; throws errors that aren't caused by the bundle.
    package init(
        _ location: BundleLocation, archive: ZipArchive, scratch: String,
        limits: UntrustedLimits = .standard
    ) throws {
        bundle = location.description
        do {
            try archive.checkTotalSize()
            try read(location, archive, scratch, limits)
        } catch let error as ZipError {
            problems = [error.description + " " + CommandError.limitsHint]
        }
        ok = problems.isEmpty
    }

    private mutating func read(
        _ location: BundleLocation, _ archive: ZipArchive, _ scratch: String, _ limits: UntrustedLimits
    ) throws {
        var reader: BundleReader?
        var metadataError: BundleError?
        do {
            reader = try BundleReader(location, archive: archive)
        } catch {
            metadataError = error
        }
        let stores = Dictionary(grouping: reader?.metadata.storeChoices ?? [], by: \.entry)
        var damage: [String] = []
        var notes: [String] = []
        for entry in archive.entries where !entry.isDirectory {
            // Each store is decompressed only once, for both its checksum and SQLite's check.
            if let reader, let choices = stores[entry.name] {
                try adding { damage += try Self.check(choices, of: reader, scratch, limits, &notes) }
            } else {
                try adding { try archive.read(entry) { (_) throws(SystemError) in } }
            }
        }
        // A damaged entry is already listed.
        if let metadataError { try adding { throw metadataError } }
        guard let reader else { return }
        for choice in reader.metadata.storeChoices
        where !choice.isCommitted && choice.store.history?.entry != nil {
            try adding { damage += try Self.checkHistory(of: choice, in: reader, scratch, limits) }
        }
        for store in reader.metadata.stores {
            try adding { _ = try reader.statements(of: store) }
        }
        try adding { _ = try reader.baselines }
        for entry in reader.metadata.entries {
            try adding { _ = try reader.entry(named: entry) }
        }
        problems += damage
        self.notes = notes
    }

    /// Runs `body`, and adds its error to the problems, unless it is listed already.
    private mutating func adding(_ body: () throws -> Void) throws {
        let problem: String
        do {
            return try body()
        } catch let error as BundleError {
            if case .system(let failure) = error.reason { throw failure }
            problem = CommandError(error).description
        } catch let error as ZipError {
            if case .system(let failure) = error.reason { throw failure }
            problem = CommandError(error).description
        }
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// Checks a copy with SQLite, under all its names in the metadata, and returns the problems.
    private static func check(
        _ choices: [StoreChoice], of bundle: BundleReader, _ scratch: String, _ limits: UntrustedLimits,
        _ notes: inout [String]
    ) throws -> [String] {
        let file = try bundle.extract(choices[0], below: scratch)
        defer { try? FileSystem.remove(Path.directory(of: file)) }
        switch StoreIntegrity.check(
            storeAt: file, isRedacted: choices[0].store.redactions != nil, limits: limits)
        {
        case .good: return []
        case .bad(let finding):
            return choices.map { "The store '\($0.name)' is damaged: \(finding)." }
        case .unknown(let reason):
            notes += choices.map {
                "The integrity of store '\($0.name)' is not fully checked: \(reason)."
            }
            return []
        }
    }

    /// Rebuilds and checks the first state of a store's history; later states need only part of the same data.
    private static func checkHistory(
        of choice: StoreChoice, in bundle: BundleReader, _ scratch: String, _ limits: UntrustedLimits
    ) throws -> [String] {
        let history = try bundle.extractHistory(of: choice, below: scratch)
        defer { try? FileSystem.remove(Path.directory(of: history.copy)) }
        guard
            case .bad(let finding) = StoreIntegrity.check(
                storeAt: try history.rebuild(0), limits: limits)
        else { return [] }
        return ["The first state of the history '\(history.entry)' is damaged: \(finding)."]
    }
}

enum StoreIntegrity: Equatable {
    case good
    case bad(String)
    case unknown(String)

    /// Checks a copy that no other code uses, as far as SQLite can; redacted values may violate `CHECK` constraints.
    static func check(
        storeAt path: String, isRedacted: Bool = false, limits: UntrustedLimits = .standard
    ) -> StoreIntegrity {
        do {
            let connection = try Connection.untrusted(path, limits: limits)
            if isRedacted { try connection.execute("PRAGMA ignore_check_constraints = 1") }
            do {
                return try run("integrity_check", on: connection)
            } catch  where !error.isDatabaseDamaged {
                // An index may need a collation or a function that only the application has.
                let quick = try run("quick_check", on: connection)
                return quick == .good ? .unknown(reason(error)) : quick
            }
        } catch {
            return error.isDatabaseDamaged ? .bad(error.message) : .unknown(reason(error))
        }
    }

    private static func reason(_ error: SQLiteError) -> String {
        error.isInterrupted ? "it took longer than the time limit" : error.message
    }

    private static func run(
        _ check: String, on connection: borrowing Connection
    ) throws(SQLiteError) -> StoreIntegrity {
        let statement = try connection.prepare("PRAGMA \(check)(3)")
        var findings: [String] = []
        while try statement.step() { findings.append(statement.text(at: 0)) }
        return findings == ["ok"] ? .good : .bad(findings.joined(separator: ", "))
    }
}
