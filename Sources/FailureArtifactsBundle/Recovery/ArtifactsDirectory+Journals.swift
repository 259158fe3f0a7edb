internal import FailureArtifactsSystem

// The journals of processes, in the hidden directory.
extension ArtifactsDirectory {
    /// The journals of all processes; none if they can't be listed.
    var journals: [Journal] { (try? allJournals()) ?? [] }

    /// Lists the journals of all processes.
    ///
    /// - Throws: An error if they can't be listed.
    func allJournals() throws(SystemError) -> [Journal] {
        try hiddenNames().compactMap { Journal(at: Path.join(inFlight, $0)) }
    }

    /// Creates the journal of a process; see ``InFlightJournal``.
    func makeJournal(of process: ProcessIdentity) throws(SystemError) -> File {
        try inHiddenDirectory { () throws(SystemError) in
            let path = Path.join(inFlight, Journal.name(of: process))
            // This process may have left a journal with an earlier configuration.
            try FileSystem.remove(path)
            return try File(creating: path)
        }
    }

    /// Removes the journal of a process, and the directories that were created only for it.
    func removeJournal(of process: ProcessIdentity) {
        try? FileSystem.remove(Path.join(inFlight, Journal.name(of: process)))
        removeIfEmpty()
    }
}
