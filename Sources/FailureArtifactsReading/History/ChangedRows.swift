internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The rows that may differ between two states of a store, derived from the pages that may differ.
///
/// If a transaction wrote only a few pages, this saves comparing whole tables.
package struct ChangedRows: Sendable {
    package enum Extent: Equatable, Sendable {
        case all
        /// The rows with these rowids, in either state; empty for a table without changes.
        case rows([Int64])
    }

    /// The root pages of a state's tables and indexes, by name.
    package typealias Roots = [String: UInt32]

    private var extents: [String: Extent] = [:]
    private static let limit = 5000

    /// The B-trees of a state of a store.
    package struct Trees: Sendable {
        /// The tree of the schema; nil if a structure is unknown.
        fileprivate var schema: BTreePages.Tree?
        /// The trees of tables and indexes, by name.
        fileprivate var named: [String: BTreePages.Tree] = [:]
        fileprivate var others: Set<UInt32> = []

        /// Reads the trees.
        ///
        /// - `previous`: the trees of another state. Only the trees of which an interior page changed are read.
        package init(
            ofFile path: String, _ roots: Roots, previous: Trees? = nil, pages: Set<UInt32> = []
        ) {
            guard let file = try? BTreePages(path: path) else { return }
            func tree(_ root: UInt32, _ previous: BTreePages.Tree?) -> BTreePages.Tree? {
                if let previous, previous.root == root, previous.keepsPages(afterChanging: pages) {
                    return previous
                }
                return file.tree(root: root)
            }
            for (name, root) in roots {
                guard let tree = tree(root, previous?.named[name]) else { return }
                named[name] = tree
            }
            others = file.otherPages()
            schema = tree(1, previous?.schema)
        }

        fileprivate func contains(_ page: UInt32) -> Bool {
            others.contains(page) || schema?.contains(page) ?? false
                || named.values.contains { $0.contains(page) }
        }
    }

    /// Compares the B-trees of two states; if a structure is unknown, all rows may differ.
    package init(
        from old: (path: String, trees: Trees), to new: (path: String, trees: Trees), pages: Set<UInt32>
    ) {
        // Pages of no tree are overflow pages. Only leaves refer to them, and not all leaves are read.
        guard old.trees.schema != nil, new.trees.schema != nil,
            let oldFile = try? BTreePages(path: old.path),
            let newFile = try? BTreePages(path: new.path),
            pages.allSatisfy({ old.trees.contains($0) || new.trees.contains($0) })
        else { return }
        for (name, tree) in old.trees.named {
            guard let other = new.trees.named[name], tree.isTable == other.isTable else { continue }
            guard tree.isTable else {
                // Interior pages of an index contain rows too.
                let isSame =
                    tree === other || tree.leaves == other.leaves && tree.interior == other.interior
                if isSame, !tree.contains(anyOf: pages) { extents[name] = .rows([]) }
                continue
            }
            var rowids: Set<Int64> = []
            let isKnown =
                Self.collect(&rowids, from: oldFile, tree, beside: other, pages)
                && Self.collect(&rowids, from: newFile, other, beside: tree, pages)
            if isKnown { extents[name] = .rows(rowids.sorted()) }
        }
    }

    /// Adds the rows of leaves that changed, or that only one state's table contains; false if the rows can't be
    /// listed.
    private static func collect(
        _ rowids: inout Set<Int64>, from file: borrowing BTreePages, _ tree: BTreePages.Tree,
        beside other: BTreePages.Tree, _ pages: Set<UInt32>
    ) -> Bool {
        var leaves = pages.intersection(tree.leaves)
        if tree !== other { leaves.formUnion(tree.leaves.subtracting(other.leaves)) }
        for leaf in leaves {
            guard let found = file.rowids(inLeaf: leaf) else { return false }
            rowids.formUnion(found)
            if rowids.count > limit { return false }
        }
        return true
    }

    /// Returns the rows to compare in a table that both states have.
    package func extent(of table: String) -> Extent { extents[table] ?? .all }
}
