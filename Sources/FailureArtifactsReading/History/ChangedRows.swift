internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Which rows can be different in two states of a store, given which pages can.
///
/// It saves a comparison of whole tables where a transaction wrote a few pages.
package struct ChangedRows: Sendable {
    /// Rows of a table.
    package enum Extent: Equatable, Sendable {
        case all
        /// Those with these rowids, in either state; of a table without any change, none.
        case rows([Int64])
    }

    /// The root pages of a state's tables and indexes, by name.
    package typealias Roots = [String: UInt32]

    private var extents: [String: Extent] = [:]
    /// More rows are not told one by one.
    private static let limit = 5000

    /// Looks at two states; where something in them is not understood, all rows can be different.
    ///
    /// - Parameters:
    ///   - old: The file of one state, with its root pages.
    ///   - new: That of the other.
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
        // What is left are overflow pages: whose they are only the leaves know, of which not all are read.
        guard let oldTrees = trees(oldFile, old.roots), let newTrees = trees(newFile, new.roots),
            unknown.isEmpty
        else { return }
        for (name, tree) in oldTrees {
            guard let other = newTrees[name], tree.isTable == other.isTable else { continue }
            guard tree.isTable else {
                // Interior pages have rows too.
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

    /// Adds the rows of the leaves that changed, or that only one of the states has in the table.
    ///
    /// - Returns: Whether all could be added.
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

    /// The rows of a table that both states have.
    package func extent(of table: String) -> Extent { extents[table] ?? .all }
}
