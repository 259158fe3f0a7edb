import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsSQLite

/// Runs a Python program in this folder.
///
/// - Returns: The lines that it printed.
func python(_ script: String, _ arguments: String...) throws -> [String] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let finished = try runProgram(["python3", "-B", folder.appending(path: script).path] + arguments)
    try #require(finished.status == 0, "\(script) \(arguments): \(finished.output)")
    return finished.output.split(separator: "\n").map(String.init)
}

extension WALHistory {
    /// Records the history of a store, whose files this process may have open.
    func record(
        storeAt path: String, hasIndex: Bool = true, committedPages: UInt64, to history: String
    ) throws -> Summary {
        try record(
            database: File(sharing: path), wal: File(sharing: path + "-wal"),
            index: hasIndex ? WriteAheadLogIndex(ofFile: path + "-shm") : nil,
            committedPages: committedPages, to: history)
    }
}

/// Returns the size of a stand-alone file in pages, from its header.
func pageCount(_ path: String) throws -> UInt64 {
    let bytes = try FileSystem.contents(ofFile: path)
    let size = bytes.withBytes { Int($0.bigEndianUInt16(at: 16)) }
    return UInt64(bytes.count / (size == 1 ? 65536 : size))
}

/// Rebuilds all states as `N.sqlite` in a new directory, from the copy and, for comparison, from state to state.
func rebuildAll(_ history: String, from copy: String, into directory: String) throws {
    try FileSystem.createDirectory(directory)
    let reader = try HistoryReader(path: history)
    let stepping = directory + "/stepping"
    for state in 0...reader.transactions.count {
        let path = "\(directory)/\(state).sqlite"
        try reader.rebuild(at: state, from: copy, to: path)
        if state == 0 {
            try FileSystem.copy(path, toNewFile: stepping)
        } else {
            try reader.advance(stepping, from: state - 1)
        }
        let isLast = state == reader.transactions.count
        if !isLast {
            #expect(
                try FileSystem.hasSameContent(File(sharing: path), File(sharing: stepping)),
                "state \(state)")
        }
    }
}
