internal import FailureArtifactsSystem

/// The processes that descend from the command: all that this process has started, and their children.
///
/// On Linux those whose parent has ended become this process's children, so that none is missed. On Apple's
/// systems they become those of `launchd`: one that leaves its parent is only known if it was seen before.
struct ProcessTree {
    private let root = getpid()
    /// What was this process's child before, of the shell that it has replaced perhaps.
    private let others: Set<ProcessIdentity>
    /// All that were ever found.
    private var known: Set<ProcessIdentity> = []

    /// Call before the command is started.
    init() {
        let root = root
        others = Set(ProcessEntry.all().filter { $0.parent == root }.map(\.identity))
    }

    /// Those that run now, parents before their children.
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
