/// A set of page numbers, a bit for each page there is.
struct PageSet: ~Copyable {
    /// Numbers below this can be members.
    let capacity: Int
    private let words: UnsafeMutableBufferPointer<UInt64>

    init(capacity: Int) {
        self.capacity = capacity
        words = .allocate(capacity: (capacity + 63) / 64)
        words.initialize(repeating: 0)
    }

    deinit {
        words.deallocate()
    }

    /// Adds a page; false where it is a member already.
    func insert(_ page: Int) -> Bool {
        let bit = UInt64(1) << UInt64(page & 63)
        guard words[page >> 6] & bit == 0 else { return false }
        words[page >> 6] |= bit
        return true
    }

    var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// The first members that follow each other.
    ///
    /// - Parameters:
    ///   - start: Where to begin.
    ///   - limit: How many pages at most.
    /// - Returns: Nil where there are no more.
    func firstRange(from start: Int, limit: Int) -> Range<Int>? {
        guard let first = next(from: start) else { return nil }
        var end = first + 1
        while end < capacity, end - first < limit, words[end >> 6] & (1 << UInt64(end & 63)) != 0 {
            end += 1
        }
        return first..<end
    }

    private func next(from start: Int) -> Int? {
        guard start < capacity else { return nil }
        var index = start >> 6
        var word = words[index] & (UInt64.max << UInt64(start & 63))
        while word == 0 {
            index += 1
            guard index < words.count else { return nil }
            word = words[index]
        }
        return index << 6 + word.trailingZeroBitCount
    }
}
