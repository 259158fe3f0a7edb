internal import FailureArtifactsSystem

/// An index from pages to the frames of a WAL.
struct FrameIndex {
    /// The pages that transactions wrote, in the order of their first frames; an index into this array is a slot.
    private(set) var pages: [UInt32] = []
    /// The first frame of each slot's page.
    private(set) var firstFrames: [Int32] = []
    /// The slot of each frame's page.
    private(set) var slots: [Int32] = []
    /// The last frame of each slot's page.
    private var lastFrames: [Int32] = []
    /// The previous frame of each frame's page, or −1.
    private var earlierFrames: [Int32] = []
    private var slotsOfPages: [UInt32: Int32] = [:]

    init(_ log: WriteAheadLog) {
        slots.reserveCapacity(log.pages.count)
        earlierFrames.reserveCapacity(log.pages.count)
        for (frame, page) in log.pages.enumerated() {
            let number = Int32(frame)
            if let slot = slotsOfPages[page] {
                slots.append(slot)
                earlierFrames.append(lastFrames[Int(slot)])
                lastFrames[Int(slot)] = number
            } else {
                let slot = Int32(pages.count)
                slotsOfPages[page] = slot
                slots.append(slot)
                earlierFrames.append(-1)
                pages.append(page)
                firstFrames.append(number)
                lastFrames.append(number)
            }
        }
    }

    /// Returns the slot of a page; nil if no transaction wrote it.
    func slot(of page: UInt32) -> Int? { slotsOfPages[page].map(Int.init) }

    /// Returns the last frame of a page among the first `end` frames.
    func lastFrame(of page: UInt32, before end: Int) -> Int? {
        guard let slot = slot(of: page) else { return nil }
        return frames(ofSlot: slot).first { $0 < end }
    }

    /// Returns the pages of the last state with the last frame of each.
    func lastFrames(within size: UInt32) -> [(page: UInt32, frame: Int)] {
        zip(pages, lastFrames).filter { $0.0 <= size }.map { ($0.0, Int($0.1)) }
    }

    /// Returns the frames of a slot's page, newest first.
    func frames(ofSlot slot: Int) -> some Sequence<Int> {
        sequence(state: lastFrames[slot]) { frame -> Int? in
            guard frame >= 0 else { return nil }
            defer { frame = earlierFrames[Int(frame)] }
            return Int(frame)
        }
    }
}
