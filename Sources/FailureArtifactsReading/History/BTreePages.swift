internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

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
