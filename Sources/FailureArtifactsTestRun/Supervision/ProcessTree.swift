internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// The descendants of the command: all processes that this process has started, and their children.
///
/// On Linux, a process whose parent has ended becomes this process's child, so none is missed. On Apple's systems, it
/// becomes a child of `launchd`: then it is known only if it was seen before.
struct ProcessTree {
    private let root = getpid()
    /// The earlier children of this process, perhaps of the shell that it has replaced.
    private let others: Set<ProcessIdentity>
    private var known: Set<ProcessIdentity> = []

    /// Creates the tree; call this before the command is started.
    init() {
        let root = root
        others = Set(ProcessEntry.all().filter { $0.parent == root }.map(\.identity))
    }

    /// Returns the processes that run now, parents before their children.
    mutating func members() -> [ProcessIdentity] {
        let table = ProcessEntry.all()
        let children = Dictionary(grouping: table, by: \.parent)
        var result: [ProcessEntry] = []
        var seen: Set<Int32> = [root]
        func add(childrenOf number: Int32) {
            for entry in children[number] ?? []
            where !others.contains(entry.identity) && seen.insert(entry.identity.number).inserted {
                result.append(entry)
            }
        }
        add(childrenOf: root)
        for entry in table where known.contains(entry.identity) && !seen.contains(entry.identity.number)
        {
            seen.insert(entry.identity.number)
            result.append(entry)
        }
        var next = 0
        while next < result.count {
            add(childrenOf: result[next].identity.number)
            next += 1
        }
        let members = result.filter { !$0.hasEnded }.map(\.identity)
        known = Set(members)
        return members
    }
}
