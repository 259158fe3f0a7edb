/// A set of page numbers, stored as one bit per possible page.
struct PageSet: ~Copyable {
    /// The exclusive upper bound of the page numbers.
    let capacity: Int
    private let words: UnsafeMutablePointer<UInt64>
    private let wordCount: Int

    init(capacity: Int) {
        self.capacity = capacity
        wordCount = (capacity + 63) / 64
        words = .allocate(capacity: wordCount)
        words.initialize(repeating: 0, count: wordCount)
    }

    deinit {
        words.deallocate()
    }

    /// Adds a page; returns false if it is a member already.
    func insert(_ page: Int) -> Bool {
        let word = words + page >> 6
        let bit = UInt64(1) << UInt64(page & 63)
        guard word.pointee & bit == 0 else { return false }
        word.pointee |= bit
        return true
    }

    var count: Int { (0..<wordCount).reduce(0) { $0 + words[$1].nonzeroBitCount } }

    /// Returns the first run of consecutive members.
    ///
    /// - Parameters:
    ///   - start: The page number to begin at.
    ///   - limit: The maximum number of pages in the run.
    /// - Returns: The run; nil if there are no more members.
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
            guard index < wordCount else { return nil }
            word = words[index]
        }
        return index << 6 + word.trailingZeroBitCount
    }
}
