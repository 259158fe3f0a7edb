internal import FailureArtifactsSystem

/// The name of something in the hidden directory: whose it is, and who finishes it should its process have died.
///
/// `<kind>-<process>-<its start>`, then `-<taker>-<its start>` once somebody has taken it. What a process has
/// several of ends in `-<random>`.
struct HiddenName {
    let kind: String
    /// Whose it is.
    let process: ProcessIdentity
    /// Who finishes it.
    var taker: ProcessIdentity?
    /// Six letters and digits; nil where there is but one.
    var random: String?

    init(
        _ kind: String, of process: ProcessIdentity, taker: ProcessIdentity? = nil, random: String? = nil
    ) {
        self.kind = kind
        self.process = process
        self.taker = taker
        self.random = random
    }

    /// What a path is; nil where it is of another kind.
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

    /// Whether nobody is at it any more.
    var isAbandoned: Bool { !(taker ?? process).isAlive }

    /// The same in the hands of this process.
    var takenByThisProcess: HiddenName {
        HiddenName(kind, of: process, taker: .current, random: random)
    }

    /// All but the random part, which who creates it may choose.
    var prefix: String {
        let processes = [process] + (taker.map { [$0] } ?? [])
        return processes.reduce(kind) { "\($0)-\($1.number)-\($1.start)" }
    }

    var description: String { random.map { "\(prefix)-\($0)" } ?? prefix }
}
