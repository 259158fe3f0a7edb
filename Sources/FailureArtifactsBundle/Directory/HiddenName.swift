internal import FailureArtifactsSystem

/// The name of a staging directory or a journal in the hidden directory.
///
/// It names the process of the tests and, if that has died, the process that took over. Its form is
/// `<kind>-<process>-<its start>`, then `-<taker>-<its start>` after a takeover. The names of staging directories end
/// in `-<random>`.
struct HiddenName {
    let kind: String
    /// The process of the tests.
    let process: ProcessIdentity
    /// The process that took over because the first one has died; nil before a takeover.
    var taker: ProcessIdentity?
    /// Six letters and digits; nil for a journal.
    var random: String?

    init(
        _ kind: String, of process: ProcessIdentity, taker: ProcessIdentity? = nil, random: String? = nil
    ) {
        self.kind = kind
        self.process = process
        self.taker = taker
        self.random = random
    }

    /// Parses a path; nil if it is of another kind.
    init?(_ kind: String, at path: String, hasRandom: Bool) {
        var parts = Path.name(of: path).split(separator: "-", omittingEmptySubsequences: false)[...]
        guard parts.popFirst() == kind[...] else { return nil }
        let random = hasRandom ? parts.popLast().map(String.init) : nil
        func nextProcess() -> ProcessIdentity? {
            guard parts.count >= 2, let number = Int32(parts.removeFirst()),
                let start = UInt64(parts.removeFirst())
            else { return nil }
            return ProcessIdentity(number: number, start: start)
        }
        guard let process = nextProcess() else { return nil }
        let taker = parts.isEmpty ? nil : nextProcess()
        guard parts.isEmpty else { return nil }
        self.init(kind, of: process, taker: taker, random: random)
    }

    /// True if the process that owns the file or directory has died.
    var isAbandoned: Bool { !(taker ?? process).isAlive }

    /// Renames the file or directory with this name, so that this process owns it, and returns the new path.
    ///
    /// If several processes try, only one succeeds. The others get nil, because the path doesn't exist any more.
    func take(_ path: String) throws(SystemError) -> String? {
        let name = HiddenName(kind, of: process, taker: .current, random: random)
        let target = Path.join(Path.directory(of: path), name.description)
        do throws(SystemError) {
            try FileSystem.rename(path, to: target)
        } catch {
            guard error.isNotFound else { throw error }
            return nil
        }
        return target
    }

    /// The name without the random part.
    var prefix: String {
        let processes = [process] + (taker.map { [$0] } ?? [])
        return processes.reduce(kind) { "\($0)-\($1.number)-\($1.start)" }
    }

    var description: String { random.map { "\(prefix)-\($0)" } ?? prefix }
}
