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
        var metadataError: BundleError?
        do {
            reader = try BundleReader(location, archive: archive)
        } catch {
            metadataError = error
        }
        if case .system(let failure) = metadataError?.reason { throw failure }
        let findings = try checkEntries(of: archive, reader, scratch: scratch, limits)
        // A damaged entry is already listed.
        if let metadataError { try add(metadataError) }
        if let reader {
            for choice in reader.metadata.storeChoices
            where !choice.isCommitted && choice.store.history?.entry != nil {
                try checkHistory(of: choice, in: reader, scratch: scratch, limits)
            }
            for store in reader.metadata.stores {
                try adding { () throws(BundleError) in _ = try reader.statements(of: store) }
            }
            for entry in reader.metadata.entries {
                try adding { () throws(BundleError) in _ = try reader.entry(named: entry) }
            }
        }
        problems += findings
        ok = problems.isEmpty
    }

    /// Adds an error to the problems, unless it is listed already.
    ///
    /// - Throws: The error of a system call, which the bundle isn't to blame for.
    private mutating func add(_ error: BundleError) throws {
        if case .system(let failure) = error.reason { throw failure }
        let problem = CommandError(error).description
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// Runs `body`, and adds its error to the problems.
    private mutating func adding(_ body: () throws(BundleError) -> Void) throws {
        do {
            try body()
        } catch {
            try add(error)
        }
    }

    /// Decompresses all entries, which verifies their sizes and checksums, and checks the stores with SQLite.
    ///
    /// - Returns: SQLite's findings, as full sentences.
    private mutating func checkEntries(
        of archive: ZipArchive, _ reader: BundleReader?, scratch: String, _ limits: UntrustedLimits
    ) throws -> [String] {
        // Each store is decompressed only once, for both its checksum and SQLite's check.
        let stores = Dictionary(grouping: reader?.metadata.storeChoices ?? [], by: \.entry)
        var findings: [String] = []
        for entry in archive.entries where !entry.isDirectory {
            do {
                if let reader, let choices = stores[entry.name] {
                    findings += try check(choices, of: reader, scratch: scratch, limits)
                } else {
                    try archive.read(entry) { (_) throws(SystemError) in }
                }
            } catch let error as BundleError {
                try add(error)
            } catch let error as ZipError {
                if case .system(let failure) = error.reason { throw failure }
                problems.append(CommandError(error).description)
            }
        }
        return findings
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
            try add(error)
        }
    }
}
