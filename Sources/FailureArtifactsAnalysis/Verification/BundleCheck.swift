internal import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// The result of checking a bundle.
package struct BundleCheck: Encodable, Equatable {
    /// The path of the bundle.
    package var bundle: String
    package var ok: Bool
    /// The problems, as full sentences.
    package var problems: [String] = []
    /// The checks that couldn't be done, as full sentences.
    package var notes: [String] = []

    /// Creates the result for a bundle that can't be opened.
    package init(_ location: BundleLocation, problem: String) {
        bundle = location.description
        ok = false
        problems = [problem]
    }

    /// Checks all content of a bundle.
    ///
    /// - Parameters:
    ///   - location: The location of the bundle.
    ///   - archive: The open archive.
    ///   - scratch: A directory for the stores, which are extracted one at a time.
    ///   - limits: The limits on resources that a store can use.
    /// - Returns: The bundle's problems.
    /// - Throws: An error that isn't caused by the bundle.
    package static func check(
        _ location: BundleLocation, archive: ZipArchive, scratch: String,
        limits: UntrustedLimits = .standard
    ) throws -> BundleCheck {
        var check = BundleCheck(bundle: location.description, ok: true)
        try check.read(location, archive: archive, scratch: scratch, limits: limits)
        return check
    }

    private init(bundle: String, ok: Bool) {
        self.bundle = bundle
        self.ok = ok
    }

    private mutating func read(
        _ location: BundleLocation, archive: ZipArchive, scratch: String, limits: UntrustedLimits
    ) throws {
        do {
            try archive.checkTotalSize()
        } catch {
            ok = false
            problems = [error.description + " " + CommandError.limitsHint]
            return
        }
        var reader: BundleReader?
        var metadataProblem: BundleError?
        do {
            reader = try BundleReader(location, archive: archive)
        } catch {
            if case .system(let failure) = error.reason { throw failure }
            metadataProblem = error
        }
        // Each store is decompressed only once, for both its checksum and SQLite's check.
        let stores = Dictionary(grouping: reader?.metadata.storeChoices ?? [], by: \.entry)
        var findings: [String] = []
        for entry in archive.entries where !entry.isDirectory {
            do {
                if let reader, let choices = stores[entry.name] {
                    findings += try check(choices, of: reader, scratch: scratch, limits)
                } else {
                    // Reading to the end verifies the size and the CRC-32.
                    try archive.read(entry) { (_) throws(SystemError) in }
                }
            } catch let error as BundleError {
                if case .system(let failure) = error.reason { throw failure }
                problems.append(CommandError(error).description)
            } catch let error as ZipError {
                if case .system(let failure) = error.reason { throw failure }
                problems.append(CommandError(error).description)
            }
        }
        // The damaged entry may already be listed.
        if let metadataProblem, !problems.contains(metadataProblem.description) {
            problems.append(metadataProblem.description)
        }
        if let reader {
            for choice in reader.metadata.storeChoices
            where !choice.isCommitted && choice.store.history?.entry != nil {
                try checkHistory(of: choice, in: reader, scratch: scratch, limits)
            }
        }
        if let reader {
            for store in reader.metadata.stores {
                do {
                    _ = try reader.statements(of: store)
                } catch {
                    if case .system(let failure) = error.reason { throw failure }
                    if !problems.contains(error.description) {
                        problems.append(CommandError(error).description)
                    }
                }
            }
        }
        for entry in reader?.metadata.entries ?? [] {
            do {
                _ = try reader?.entry(named: entry)
            } catch {
                let problem = error.description
                if !problems.contains(problem) { problems.append(problem) }
            }
        }
        problems += findings
        ok = problems.isEmpty
    }

    /// Checks a copy with SQLite.
    ///
    /// - Parameters:
    ///   - choices: The copy, under all its names in the metadata.
    ///   - bundle: The bundle.
    ///   - scratch: A directory for the extracted copy.
    ///   - limits: The limits on resources that the copy can use.
    /// - Returns: The problems, as full sentences.
    /// - Throws: An error if the entry is damaged.
    private mutating func check(
        _ choices: [StoreChoice], of bundle: BundleReader, scratch: String,
        _ limits: UntrustedLimits
    ) throws(BundleError) -> [String] {
        guard let first = choices.first else { return [] }
        let file = try bundle.extract(first, below: scratch)
        defer { try? FileSystem.remove(Path.directory(of: file)) }
        switch StoreIntegrity.check(
            storeAt: file, isRedacted: first.store.redactions != nil, limits: limits)
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

    /// Rebuilds and checks the first state of a store's history.
    ///
    /// Later states need only part of the same data.
    private mutating func checkHistory(
        of choice: StoreChoice, in bundle: BundleReader, scratch: String, _ limits: UntrustedLimits
    ) throws {
        do {
            let history = try bundle.extractHistory(of: choice, below: scratch)
            defer { try? FileSystem.remove(Path.directory(of: history.copy)) }
            let first = try history.rebuild(0)
            switch StoreIntegrity.check(storeAt: first, limits: limits) {
            case .good, .unknown: break
            case .bad(let finding):
                problems.append(
                    "The first state of the history '\(history.entry)' is damaged: \(finding).")
            }
        } catch {
            if case .system(let failure) = error.reason { throw failure }
            if !problems.contains(error.description) { problems.append(CommandError(error).description) }
        }
    }
}

/// The result of SQLite's integrity check.
enum StoreIntegrity: Equatable {
    case good
    /// The problem, as a clause.
    case bad(String)
    /// The reason why the check couldn't be done, as a clause.
    case unknown(String)

    /// Checks a copy that no other code uses.
    ///
    /// - Parameters:
    ///   - path: The copy.
    ///   - isRedacted: True if the values may violate the store's `CHECK` constraints.
    ///   - limits: The limits on resources that the copy can use.
    /// - Returns: The result of `PRAGMA integrity_check`, or of `PRAGMA quick_check` if the first can't run.
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
        while try statement.step() {
            if case .text(let finding) = statement.value(at: 0) { findings.append(finding) }
        }
        if findings == ["ok"] { return .good }
        return .bad(findings.joined(separator: ", "))
    }
}
