package import FailureArtifactsSQLite
package import FailureArtifactsSystem
package import FailureArtifactsZip

/// Packs a staging directory into a bundle, while the next tests run.
package enum BundlePacker {
    /// Writes a bundle, and returns its path inside the staging directory and the text of its `README.txt`.
    ///
    /// The staging directory has a file for each entry that the metadata names. The bundle is complete and synced;
    /// after an error, the file is removed.
    package static func pack(
        _ metadata: BundleMetadata, from staging: StagingDirectory, date: Timestamp = .now,
        symbolizer: Symbolizer = .shared
    ) throws(ZipError) -> (path: String, readMe: String) {
        let logs = logs(of: metadata, in: staging, by: symbolizer)
        let readMe = FailureNote(metadata, logs.values.flatMap(\.self)).description
        let path = staging.file(ofEntry: "bundle.zip.partial")
        // Another process may have died while it wrote this file.
        try? FileSystem.remove(path)
        do throws(ZipError) {
            var zip = try ZipWriter(creating: path)
            try zip.addEntry(named: "metadata.json", bytes: metadata.json(), modified: date)
            for name in metadata.entries {
                if let records = logs[name] {
                    try zip.addEntry(
                        named: name, bytes: StatementRecord.lines(of: records), modified: date)
                    continue
                }
                try zip.addEntry(
                    named: name, contentsOf: try stagedFile(name, in: staging, archive: path),
                    modified: date)
            }
            if metadata.formatVersion == .withBaseline {
                try zip.addEntry(
                    named: Baseline.entry,
                    contentsOf: try stagedFile(Baseline.entry, in: staging, archive: path),
                    modified: date)
            }
            try zip.addEntry(named: "README.txt", bytes: Array(readMe.utf8), modified: date)
            try zip.finish()
        } catch {
            try? FileSystem.remove(path)
            throw error
        }
        return (path, readMe)
    }

    /// Returns true if a file is a bundle, according to the name of its first entry.
    static func isBundle(_ path: String) -> Bool {
        let start = Array("PK\u{3}\u{4}".utf8)
        let name = Array(BundleMetadata.entryName.utf8)
        var bytes = [UInt8](repeating: 0, count: 30 + name.count)
        let count = try? bytes.withMutableBytes { (buffer) throws(SystemError) in
            try File(reading: path).read(into: buffer, at: 0)
        }
        return count == bytes.count && bytes.starts(with: start) && bytes.suffix(name.count) == name[...]
    }

    /// Returns the statements of the logs, with source lines in place of stacks, by the names of their entries.
    private static func logs(
        of metadata: BundleMetadata, in staging: StagingDirectory, by symbolizer: Symbolizer
    ) -> [String: [StatementRecord]] {
        let logs = stagedLogs(of: metadata, in: staging)
        let stacks = logs.values.flatMap { $0.compactMap(\.stack) }
        guard !stacks.isEmpty else { return logs }
        let sources = StatementSources(
            of: stacks, in: staging.images ?? LoadedImages(images: [], workingDirectory: ""),
            failureFile: metadata.failures.first?.file, by: symbolizer, scratch: staging.path)
        return logs.mapValues { records in
            records.map { record in
                var record = record
                if let stack = record.stack {
                    let lines = sources.lines(of: stack)
                    record.source = lines.first
                    record.callers = lines.count > 1 ? Array(lines.dropFirst()) : nil
                }
                record.stack = nil
                return record
            }
        }
    }

    /// Returns the statements of the logs in a staging directory, by the names of their entries.
    package static func stagedLogs(
        of metadata: BundleMetadata, in staging: StagingDirectory
    ) -> [String: [StatementRecord]] {
        metadata.stores.reduce(into: [:]) { logs, store in
            // A file that can't be read fails when it is added.
            guard let entry = store.statements?.entry,
                let bytes = try? FileSystem.contents(ofFile: staging.file(ofEntry: entry), limit: .max)
            else { return }
            logs[entry] = StatementRecord.records(in: bytes)
        }
    }

    private static func stagedFile(
        _ name: String, in staging: StagingDirectory, archive: String
    ) throws(ZipError) -> File {
        do {
            return try File(reading: staging.file(ofEntry: name))
        } catch {
            throw ZipError(archive: archive, entry: name, reason: .system(error))
        }
    }
}

extension RemovedValues {
    /// The time limit of the search, in seconds.
    private static let timeLimit = 1.0

    /// Searches the future content of a bundle for the removed values.
    ///
    /// Returns a warning, without the value, for each entry that contains one.
    package func warnings(about metadata: BundleMetadata, in staging: StagingDirectory)
        -> [CaptureWarning]
    {
        guard !isEmpty else { return [] }
        let deadline = Instant.now.advanced(bySeconds: Self.timeLimit)
        var found: [(entry: String, origins: [String])] = []
        metadata.json().withUnsafeBytes { bytes in
            found.append(("metadata.json", origins(in: bytes, until: deadline)))
        }
        for entry in metadata.entries {
            let origins = try? origins(inFile: staging.file(ofEntry: entry), until: deadline)
            found.append((entry, origins ?? []))
        }
        return found.filter { !$0.origins.isEmpty }.map { entry, origins in
            CaptureWarning(
                .removedValueRemains,
                "A value that was removed from \(origins.joined(separator: ", ")) is still in '\(entry)', where no "
                    + "redaction names it.",
                ["entry": .text(entry)])
        }
    }
}
