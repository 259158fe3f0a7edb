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

/// The B-trees of a stand-alone file, read as far as necessary to assign pages to them
/// (<https://www.sqlite.org/fileformat2.html#b_tree_pages>).
///
/// Only interior pages are read, not leaves. In a large store, one page in several hundred is interior.
struct BTreePages: ~Copyable {
    final class Tree: Sendable {
        let root: UInt32
        /// True for a table with rowids; false for an index or a table WITHOUT ROWID.
        let isTable: Bool
        let leaves: Set<UInt32>
        let interior: Set<UInt32>

        init(root: UInt32, isTable: Bool, leaves: Set<UInt32>, interior: Set<UInt32>) {
            self.root = root
            self.isTable = isTable
            self.leaves = leaves
            self.interior = interior
        }

        func contains(_ page: UInt32) -> Bool { leaves.contains(page) || interior.contains(page) }

        func contains(anyOf pages: Set<UInt32>) -> Bool { pages.contains { contains($0) } }

        /// True if the tree has the same pages after a change of other pages than its leaves; a root without children
        /// may get some.
        func keepsPages(afterChanging pages: Set<UInt32>) -> Bool {
            !pages.contains { interior.contains($0) || $0 == root }
        }
    }

    private let file: File
    private let pageSize: Int
    private let pageCount: UInt32
    private let usableSize: Int
    private let isAutoVacuum: Bool

    init(path: String) throws(SystemError) {
        let file = try File(sharing: path)
        let bytes = try file.size()
        var header = [UInt8](repeating: 0, count: 100)
        _ = try header.withMutableBytes { (buffer) throws(SystemError) in
            try file.read(into: buffer, at: 0)
        }
        let size = header.withBytes { UInt32($0.bigEndianUInt16(at: 16)) }
        let pageSize = size == 1 ? 65536 : Int(size)
        guard isPageSize(UInt32(pageSize)), pageSize - Int(header[20]) >= 480 else {
            throw SystemError("read", path, code: EINVAL)
        }
        self.file = file
        self.pageSize = pageSize
        pageCount = UInt32(clamping: bytes / UInt64(pageSize))
        usableSize = pageSize - Int(header[20])
        isAutoVacuum = header[52..<56].contains { $0 > 0 }
    }

    /// Returns a page and the offset of its B-tree header; nil if the page doesn't exist.
    private func page(_ number: UInt32) -> (bytes: [UInt8], header: Int)? {
        guard number > 0, number <= pageCount else { return nil }
        let bytes = try? file.bytes(pageSize, at: UInt64(number - 1) * UInt64(pageSize))
        return bytes.flatMap { $0.count == pageSize ? ($0, number == 1 ? 100 : 0) : nil }
    }

    /// Returns the pages of the B-tree with a root page; nil if its structure is invalid.
    func tree(root: UInt32) -> Tree? {
        guard let (bytes, header) = page(root) else { return nil }
        let isTable: Bool
        switch bytes[header] {
        case 0x0D, 0x05: isTable = true
        case 0x0A, 0x02: isTable = false
        default: return nil
        }
        // All pages at one depth have the same type.
        var interior: Set<UInt32> = []
        var level: Set<UInt32> = [root]
        while let first = level.first {
            guard let (bytes, header) = page(first) else { return nil }
            if bytes[header] == (isTable ? 0x0D : 0x0A) {
                return Tree(root: root, isTable: isTable, leaves: level, interior: interior)
            }
            var next: Set<UInt32> = []
            for number in level {
                guard interior.insert(number).inserted,
                    let children = children(of: number, isTable: isTable),
                    next.isDisjoint(with: children)
                else { return nil }
                next.formUnion(children)
            }
            level = next
        }
        return nil
    }

    private func children(of number: UInt32, isTable: Bool) -> [UInt32]? {
        guard let (bytes, header) = page(number), bytes[header] == (isTable ? 0x05 : 0x02),
            let cells = cells(bytes, at: header, pointers: header + 12)
        else { return nil }
        return bytes.withBytes { bytes in
            cells.map { bytes.bigEndianUInt32(at: $0) } + [bytes.bigEndianUInt32(at: header + 8)]
        }
    }

    /// Returns the offsets of a page's cells; nil if one is out of bounds.
    private func cells(_ bytes: [UInt8], at header: Int, pointers: Int) -> [Int]? {
        bytes.withBytes { bytes in
            let count = Int(bytes.bigEndianUInt16(at: header + 3))
            guard pointers + 2 * count <= bytes.count else { return nil }
            let cells = (0..<count).map { Int(bytes.bigEndianUInt16(at: pointers + 2 * $0)) }
            return cells.allSatisfy { $0 + 4 <= bytes.count } ? cells : nil
        }
    }

    /// Returns the rowids in a table's leaf; nil if its structure is invalid.
    func rowids(inLeaf number: UInt32) -> [Int64]? {
        guard let (bytes, header) = page(number), bytes[header] == 0x0D,
            let cells = cells(bytes, at: header, pointers: header + 8)
        else { return nil }
        var rowids: [Int64] = []
        for cell in cells {
            var position = cell
            guard Self.varint(bytes, &position) != nil, let rowid = Self.varint(bytes, &position) else {
                return nil
            }
            rowids.append(rowid)
        }
        return rowids
    }

    /// Reads a variable-length integer of 1 to 9 bytes (<https://www.sqlite.org/fileformat2.html#varint>).
    private static func varint(_ bytes: [UInt8], _ position: inout Int) -> Int64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard position < bytes.count else { return nil }
            let byte = bytes[position]
            position += 1
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { break }
        }
        return Int64(bitPattern: value)
    }

    /// Returns the pages of the freelist and, in an auto-vacuum database, of the pointer map
    /// (<https://www.sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages>).
    func otherPages() -> Set<UInt32> {
        let freelist = Freelist(databaseSize: pageCount) { number in page(number)?.bytes }
        var pages = freelist.trunks.union(freelist.leaves)
        if isAutoVacuum {
            for number in stride(from: 2, through: Int(pageCount), by: usableSize / 5 + 1) {
                pages.insert(UInt32(number))
            }
        }
        return pages
    }
}
