internal import FailureArtifactsSystem

/// A place in the line of those who wait for a directory's account: who came first is next.
///
/// The system gives a lock that is free to whoever happens to ask then, and can't be had to wait for it up to a
/// time. So whoever does not get it soon takes a place: a byte of another file, which is locked, and whose number
/// is the time. Somebody with an earlier one is let go first. A place ends with its process, and none of them
/// decides who may change the account: where there are no such locks, or the file can't be had, nobody waits in line.
struct AccountLine: ~Copyable {
    static let name = ".budget-line"
    /// How long who does what, in seconds.
    struct Patience {
        /// Until a place is taken: where all turns are short, it takes longer to give one to somebody in particular
        /// than to let whoever runs have it.
        var withoutPlace = 2.0
        /// Between attempts of somebody who is not next: who is may have been stopped, or get no processor.
        var passing = 0.02
    }

    private let path: String
    private let mayCreate: Bool
    private let patience: Patience
    private let arrival = Instant.now
    /// Nil where nobody waits.
    private var file: File?
    private var place: UInt64?
    private var isFirst = false
    /// Since when somebody else has been let go first all the time.
    private var heldBackSince: Instant?
    private var pause: UInt32 = 100

    /// Begins to wait, without a place in the line at first.
    ///
    /// - Parameters:
    ///   - directory: The artifacts directory.
    ///   - creating: Whether the line may be created.
    ///   - patience: How long who does what.
    init(in directory: String, creating: Bool, _ patience: Patience = Patience()) {
        self.patience = patience
        path = Path.join(directory, Self.name)
        mayCreate = creating
        file = try? File(updating: path)
    }

    // A child made by `fork` may have the file open for long.
    deinit { if let place { file?.unlock(byte: place) } }

    /// Whether to ask for the lock now.
    mutating func isNext() -> Bool {
        isFirst = Self.other(in: file, before: place ?? arrival.nanoseconds) == nil
        let now = Instant.now
        let since = heldBackSince ?? now
        heldBackSince = isFirst ? nil : since
        guard !isFirst, since.seconds(until: now) > patience.passing else { return isFirst }
        heldBackSince = now
        return true
    }

    /// Waits a little, in the line if it has been long.
    ///
    /// Where many wait, they are not to keep the processors from the one that has the lock.
    mutating func wait() {
        if place == nil, arrival.elapsed > patience.withoutPlace { takePlace() }
        sleep(microseconds: pause)
        pause = place != nil && isFirst ? 200 : min(pause * 2, isFirst ? 3200 : 6400)
    }

    private mutating func takePlace() {
        if file == nil, mayCreate {
            // Somebody else may do so at the same time.
            file = (try? File(creating: path)) ?? (try? File(updating: path))
        }
        // Two may come at the same time, but hardly three.
        for byte in arrival.nanoseconds..<arrival.nanoseconds + 10 {
            guard let isTaken = try? file?.tryLock(byte: byte) else { return }
            if isTaken {
                place = byte
                return
            }
        }
    }

    /// The place of somebody else, if there is one in the line before a time.
    private static func other(in file: borrowing File?, before end: UInt64) -> UInt64? {
        (try? file?.byteLocked(in: 0..<end)) ?? nil
    }
}
