import CFailureArtifactsSQLite
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

/// Facts that others could notice about a capture: they must be the same before and after it.
struct Witness: Equatable {
    /// The facts by their names.
    private var facts: [String: String] = [:]

    /// Observes connections of this process and a store, without opening the store's files in this process.
    ///
    /// - Parameters:
    ///   - handles: The application's connections; none may be in use.
    ///   - path: The store's file; nil for a store in memory.
    ///   - other: Another process that tries to write; it must not be inside a transaction.
    ///   - isSilent: True if no statement may be run on the connections.
    /// - Throws: An error if another process cannot be started or does not answer.
    init(_ handles: [ApplicationHandle], _ path: String?, _ other: OtherProcess?, isSilent: Bool) throws
    {
        for (index, handle) in handles.enumerated() { ask(handle, index, isSilent) }
        if let path {
            // Another process must read the bytes: closing a file drops the locks of this process.
            let files = ["", "-wal", "-journal"].map { path + $0 }
            facts["bytes"] = try runProgram(
                ["sha256sum", "--"] + files.filter { FileManager.default.fileExists(atPath: $0) }
            ).text
            facts["files"] = try Self.files(beside: path)
            facts["locks"] = try Self.locks(on: path)
        }
        if let other {
            facts["a writer"] = try other.run("BEGIN EXCLUSIVE").joined()
            if facts["a writer"] == "" { try other.run("ROLLBACK") }
        }
    }

    private mutating func ask(_ application: ApplicationHandle, _ index: Int, _ isSilent: Bool) {
        let handle = application.handle
        var code = sqlite3_errcode(handle)
        // After a success, any code of success may be set.
        if code == SQLITE_ROW || code == SQLITE_DONE { code = SQLITE_OK }
        facts["code \(index)"] = "\(code)"
        if code != SQLITE_OK {
            facts["extended code \(index)"] = "\(sqlite3_extended_errcode(handle))"
            facts["message \(index)"] = String(cString: sqlite3_errmsg(handle))
        }
        facts["changes \(index)"] = "\(sqlite3_changes(handle)), \(sqlite3_total_changes(handle))"
        facts["row \(index)"] = "\(sqlite3_last_insert_rowid(handle))"
        facts["transaction \(index)"] =
            "\(sqlite3_get_autocommit(handle)), \(sqlite3_txn_state(handle, nil))"
        // A statement would hide the error.
        guard code == SQLITE_OK && !isSilent else { return }
        for pragma in ["journal_mode", "locking_mode", "data_version", "cache_size"] {
            facts["\(pragma) \(index)"] = application.text("PRAGMA \(pragma)")
        }
    }

    /// Returns the names, sizes and times of the files whose names begin with the store's name.
    private static func files(beside path: String) throws -> String {
        let url = URL(filePath: path)
        let names = try FileManager.default.contentsOfDirectory(
            atPath: url.deletingLastPathComponent().path)
        return try names.filter { $0.hasPrefix(url.lastPathComponent) }.sorted().map { name in
            let file = url.deletingLastPathComponent().path + "/" + name
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            // The index of a WAL is shared memory, which the locks of readers change.
            if name.hasSuffix("-shm") { return name }
            let time = (attributes[.modificationDate] as? Date)?.timeIntervalSinceReferenceDate
            return "\(name) \(attributes[.size] ?? 0) \(time ?? 0)"
        }.joined(separator: "\n")
    }

    /// Returns the POSIX locks that this process holds on the store's files (`man 5 proc_pid_fdinfo`).
    static func locks(on path: String) throws -> String {
        let inodes = ["", "-shm"].compactMap { suffix in
            (try? FileManager.default.attributesOfItem(atPath: path + suffix))?[.systemFileNumber]
                as? Int
        }
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let locks = descriptors.flatMap { descriptor -> [String] in
            var status = stat()
            guard fstat(CInt(descriptor) ?? -1, &status) == 0, inodes.contains(Int(status.st_ino)),
                let information = try? String(
                    contentsOfFile: "/proc/self/fdinfo/\(descriptor)", encoding: .utf8)
            else { return [String]() }
            return information.split(separator: "\n").filter { $0.hasPrefix("lock:") }.map { line in
                // Without the number, which also counts the locks of other processes.
                line.split { $0 == " " || $0 == "\t" }.dropFirst(2).joined(separator: " ")
            }
        }
        return Set(locks).sorted().joined(separator: "\n")
    }

    /// Checks that others cannot notice `body`.
    static func undisturbed<Result>(
        _ handles: ApplicationHandle..., path: String? = nil, writer other: OtherProcess? = nil,
        isSilent: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation, by body: () throws -> Result
    ) throws -> Result {
        let before = try Witness(handles, path, other, isSilent: isSilent)
        let result = try body()
        let after = try Witness(handles, path, other, isSilent: isSilent)
        for fact in Set(before.facts.keys).union(after.facts.keys).sorted() {
            #expect(
                before.facts[fact] == after.facts[fact], "\(fact)", sourceLocation: sourceLocation)
        }
        return result
    }
}
