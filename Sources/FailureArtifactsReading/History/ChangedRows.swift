internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The rows that may differ between two states of a store, derived from the pages that may differ.
///
/// If a transaction wrote only a few pages, this saves comparing whole tables.
package struct ChangedRows: Sendable {
    /// A set of a table's rows.
    package enum Extent: Equatable, Sendable {
        case all
        /// The rows with these rowids, in either state; empty for a table without changes.
        case rows([Int64])
    }

    /// The root pages of a state's tables and indexes, by name.
    package typealias Roots = [String: UInt32]

    private var extents: [String: Extent] = [:]
    /// The maximum number of rowids to list for a table.
    private static let limit = 5000

    /// Compares the B-trees of two states.
    ///
    /// If a structure is unknown, all rows may differ.
    ///
    /// - Parameters:
    ///   - old: The file of one state, and its root pages.
    ///   - new: The file of the other state, and its root pages.
    ///   - pages: A superset of the pages that differ.
    package init(
        from old: (path: String, roots: Roots), to new: (path: String, roots: Roots), pages: Set<UInt32>
    ) {
        guard let oldFile = try? BTreePages(path: old.path),
            let newFile = try? BTreePages(path: new.path)
        else { return }
        var unknown = pages.subtracting(oldFile.otherPages()).subtracting(newFile.otherPages())
        func trees(_ file: borrowing BTreePages, _ roots: Roots) -> [String: BTreePages.Tree]? {
            guard let schema = file.tree(root: 1) else { return nil }
            unknown.subtract(schema.leaves.union(schema.interior))
            var trees: [String: BTreePages.Tree] = [:]
            for (name, root) in roots {
                guard let tree = file.tree(root: root) else { return nil }
                unknown.subtract(tree.leaves)
                unknown.subtract(tree.interior)
                trees[name] = tree
            }
            return trees
        }
        // The remaining pages are overflow pages. Only leaves refer to them, and not all leaves are read.
        guard let oldTrees = trees(oldFile, old.roots), let newTrees = trees(newFile, new.roots),
            unknown.isEmpty
        else { return }
        for (name, tree) in oldTrees {
            guard let other = newTrees[name], tree.isTable == other.isTable else { continue }
            guard tree.isTable else {
                // Interior pages of an index contain rows too.
                let all = tree.leaves.union(tree.interior)
                if all.isDisjoint(with: pages), all == other.leaves.union(other.interior) {
                    extents[name] = .rows([])
                }
                continue
            }
            var rowids: Set<Int64> = []
            let isKnown =
                Self.collect(&rowids, from: oldFile, tree, beside: other, pages)
                && Self.collect(&rowids, from: newFile, other, beside: tree, pages)
            if isKnown { extents[name] = .rows(rowids.sorted()) }
        }
    }

    /// Adds the rows of leaves that changed, or that only one state's table contains.
    ///
    /// - Returns: False if the rows can't be listed.
    private static func collect(
        _ rowids: inout Set<Int64>, from file: borrowing BTreePages, _ tree: BTreePages.Tree,
        beside other: BTreePages.Tree, _ pages: Set<UInt32>
    ) -> Bool {
        for leaf in tree.leaves where pages.contains(leaf) || !other.leaves.contains(leaf) {
            guard let found = file.rowids(inLeaf: leaf) else { return false }
            rowids.formUnion(found)
            if rowids.count > limit { return false }
        }
        return true
    }

    /// Returns the rows to compare in a table that both states have.
    package func extent(of table: String) -> Extent { extents[table] ?? .all }
}
