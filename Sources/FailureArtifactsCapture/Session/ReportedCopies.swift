internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// A copy in a failing test's bundle, for the test framework's own report, such as Xcode's result bundle.
package struct ReportedCopy: Equatable, Sendable {
    /// The file's name, such as `ledger.sqlite`.
    package let name: String
    package let content: [UInt8]
}

/// The state of the copies for the test framework's own report.
struct ReportedCopies {
    /// The entries with files that belong to stores and are not part of their databases.
    var externalEntries: Set<String> = []
    /// The labels of the snapshots that were taken at failures.
    var failureLabels: Set<String> = []
    /// The entries that were passed to the report, or that it has no room for.
    var entries: Set<String> = []
    /// The total size of the copies that were passed to it, in bytes.
    var bytes: UInt64 = 0
}

extension CaptureSession {
    /// Returns the copies made for a failing test that were not returned before, with their content.
    ///
    /// They are the stores as they were at the first failure, their committed versions if a transaction was open, the
    /// external files of libraries' stores, a text about the failure (``FailureNote``), and with the mode `everyFailure`
    /// the stores at each further failure. A store that hasn't changed since is not returned again. The bundle itself
    /// appears only after the test's end, when the test takes no more attachments. If a copy would exceed the maximum
    /// total size for one test, a text names it instead.
    ///
    /// The content is read here, because the files exist only until they are packed. May be called from any thread;
    /// nothing is returned if another thread makes a copy for the test at the moment.
    package func newCopies(of test: RunningTest, maximumBytes: UInt64 = 64 << 20) -> [ReportedCopy] {
        // Another thread that makes a copy may be waiting for this one, so this one doesn't wait.
        let copies = test.capture.withLockIfAvailable { stage -> [ReportedCopy] in
            guard case .open(var capture) = stage else { return [] }
            let copies = capture.takeNewCopies(maximumBytes: maximumBytes)
            stage = .open(capture)
            return copies
        }
        return copies ?? []
    }
}

extension Capture {
    fileprivate mutating func takeNewCopies(maximumBytes: UInt64) -> [ReportedCopy] {
        var copies: [ReportedCopy] = []
        var leftOut: [String] = []
        let isFirst = reported.entries.isEmpty
        for (name, entry) in reportableEntries where reported.entries.insert(entry).inserted {
            let path = staging.file(ofEntry: entry)
            guard let size = FileSystem.regularFile(path)?.size else { continue }
            guard size <= maximumBytes.saturatingSubtract(reported.bytes),
                let content = try? FileSystem.contents(ofFile: path, limit: Int(clamping: size))
            else {
                leftOut.append("\(name), \(size) bytes")
                continue
            }
            reported.bytes += size
            copies.append(ReportedCopy(name: name, content: content))
        }
        if isFirst, !reported.entries.isEmpty {
            let metadata = describe()
            let logs = BundlePacker.stagedLogs(of: metadata, in: staging)
            let note = FailureNote(metadata, logs.values.flatMap(\.self))
            copies.append(ReportedCopy(name: "failure.md", content: Array(note.description.utf8)))
        }
        if leftOut.isEmpty { return copies }
        let text =
            "Only the bundle that the test leaves has these copies, because a report takes at most "
            + "\(maximumBytes) bytes for each test:\n" + leftOut.joined(separator: "\n") + "\n"
        return copies + [ReportedCopy(name: "failure-artifacts.txt", content: Array(text.utf8))]
    }

    private var reportableEntries: [(name: String, entry: String)] {
        var entries: [(name: String, entry: String)] = []
        for store in stores { entries += Self.entries(of: store, suffix: "") }
        for attachment in attachments {
            if let entry = attachment.entry, reported.externalEntries.contains(entry) {
                entries.append((attachment.name, entry))
            }
        }
        for snapshot in snapshots where reported.failureLabels.contains(snapshot.label) {
            for store in snapshot.stores {
                entries += Self.entries(of: store, suffix: ".\(snapshot.label)")
            }
        }
        return entries
    }

    private static func entries(
        of store: BundleMetadata.Store, suffix: String
    ) -> [(name: String, entry: String)] {
        [
            store.entry.map { ("\(store.name)\(suffix).sqlite", $0) },
            store.committedEntry.map { ("\(store.name)\(suffix).committed.sqlite", $0) },
        ].compactMap(\.self)
    }
}
