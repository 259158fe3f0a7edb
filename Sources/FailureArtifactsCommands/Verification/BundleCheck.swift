internal import FailureArtifactsBundle
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// What is wrong with a bundle.
struct BundleCheck: Encodable, Equatable {
    /// Its path.
    var bundle: String
    var ok: Bool
    /// Full sentences.
    var problems: [String] = []
    /// What could not be checked, as full sentences.
    var notes: [String] = []

    /// Says that a bundle cannot even be opened.
    init(_ location: BundleLocation, problem: String) {
        bundle = location.description
        ok = false
        problems = [problem]
    }

    /// Reads all of a bundle.
    ///
    /// - Parameters:
    ///   - location: Where it is.
    ///   - archive: It, open.
    ///   - scratch: A directory where its stores have room, one after the other.
    /// - Throws: Failures that are none of the bundle's.
    init(_ location: BundleLocation, archive: ZipArchive, scratch: String) throws {
        bundle = location.description
        ok = true
        for entry in archive.entries where !entry.isDirectory {
            do {
                // Reading to the end compares size and CRC-32.
                try archive.read(entry) { (_) throws(SystemError) in }
            } catch {
                if case .system(let failure) = error.reason { throw failure }
                problems.append(error.description)
            }
        }
        do {
            let reader = try BundleReader(location, archive: archive)
            try check(reader, scratch: scratch)
        } catch let error as BundleError {
            if case .system(let failure) = error.reason { throw failure }
            // The damaged entry has been named already.
            if !problems.contains(error.description) { problems.append(error.description) }
        }
        ok = problems.isEmpty
    }

    private mutating func check(_ bundle: BundleReader, scratch: String) throws {
        for entry in bundle.metadata.attachments.compactMap(\.entry)
        where bundle.archive.entry(named: entry) == nil {
            problems.append(
                BundleError(bundle.location.description, .missingEntry(entry)).description)
        }
        for choice in bundle.metadata.storeChoices
        where !choice.isCommitted && choice.store.history?.entry != nil {
            try checkHistory(of: choice, in: bundle, scratch: scratch)
        }
        for choice in bundle.metadata.storeChoices {
            do {
                let file = try bundle.extract(choice, below: scratch)
                defer { try? FileSystem.remove(Path.directory(of: file)) }
                switch StoreIntegrity(ofStoreAt: file) {
                case .good: break
                case .bad(let finding):
                    problems.append("The store '\(choice.name)' is damaged: \(finding).")
                case .unknown(let reason):
                    notes.append(
                        "The integrity of store '\(choice.name)' is not fully checked: \(reason).")
                }
            } catch {
                if case .system(let failure) = error.reason { throw failure }
                if !problems.contains(error.description) { problems.append(error.description) }
            }
        }
    }

    /// Rebuilds the first state of a store's history; those after it take less.
    private mutating func checkHistory(
        of choice: StoreChoice, in bundle: BundleReader, scratch: String
    ) throws {
        do {
            let history = try bundle.extractHistory(of: choice, below: scratch)
            defer { try? FileSystem.remove(Path.directory(of: history.copy)) }
            let first = try history.rebuild(0)
            switch StoreIntegrity(ofStoreAt: first) {
            case .good, .unknown: break
            case .bad(let finding):
                problems.append(
                    "The first state of the history '\(history.entry)' is damaged: \(finding).")
            }
        } catch {
            if case .system(let failure) = error.reason { throw failure }
            if !problems.contains(error.description) { problems.append(error.description) }
        }
    }
}
