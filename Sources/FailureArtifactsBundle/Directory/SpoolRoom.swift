package import FailureArtifactsSystem

/// What one capture may take of its directory's room.
///
/// It is granted a little to begin with, which is enough for most and costs nothing further; for more it asks, and
/// what it does not need it gives back. Who comes first gets it. One thread at a time puts something into a spool.
package final class SpoolRoom: Sendable {
    private struct State {
        /// What is noted for it in the directory.
        var claim: UInt64
        /// What it may use for more than its description.
        var content: UInt64
        var used: UInt64 = 0
        /// What it may use for the time being, whatever there is.
        var maximum = UInt64.max
        /// What keeps it from getting more.
        var limit: DirectoryLimits.Limit
        /// Until when others are waited for; nil where nobody was.
        var patienceEnd: Instant?
    }

    package let spool: Spool
    private let directory: ArtifactsDirectory
    private let limits: DirectoryLimits
    private let state: Lock<State>

    /// Seconds that a capture waits for others to give back what they need no longer: their copies have been packed.
    private static let patience = 0.5

    /// Begins a capture, if there may be one more bundle.
    ///
    /// - Parameters:
    ///   - directory: Where.
    ///   - process: Whose capture.
    ///   - limits: What the directory may hold.
    /// - Throws: A `SystemError`, the failure to create its files, or ``LimitReached``.
    package init(
        in directory: ArtifactsDirectory, of process: ProcessIdentity = .current,
        within limits: DirectoryLimits
    ) throws {
        let made =
            try Self.waiting(until: .now.advanced(bySeconds: Self.patience)) {
                do {
                    return try directory.makeSpool(of: process, within: limits)
                } catch let error as LimitReached where error.limit == .totalBytes {
                    return nil
                }
            } whether: {
                directory.maySoonHave(1)
            } ?? directory.makeSpool(of: process, within: limits)
        spool = made.spool
        self.directory = directory
        self.limits = limits
        state = Lock(State(claim: made.claim, content: made.forContent, limit: made.limit))
    }

    /// Tries something until it succeeds.
    ///
    /// - Parameters:
    ///   - deadline: Until then.
    ///   - body: Gives nil where it does not.
    ///   - maySucceed: Whether it is worth waiting; asked once.
    /// - Returns: What `body` returns; nil where it does not succeed.
    private static func waiting<Result>(
        until deadline: Instant, _ body: () throws -> Result?, whether maySucceed: () -> Bool
    ) rethrows -> Result? {
        var isWaiting = false
        while true {
            if let result = try body() { return result }
            guard Instant.now < deadline, isWaiting || maySucceed() else { return nil }
            isWaiting = true
            sleep(microseconds: 3000)
        }
    }

    /// Takes over what somebody has left.
    package init(of spool: Spool, in directory: ArtifactsDirectory, within limits: DirectoryLimits) {
        self.spool = spool
        self.directory = directory
        self.limits = limits
        let used = FileSystem.size(ofAllBelow: spool.path)
        let claim = spool.claim
        state = Lock(State(claim: claim, content: claim, used: used, limit: .totalBytes))
    }

    /// What sets the limit where there is not enough.
    package var limit: DirectoryLimits.Limit { state.withLock(\.limit) }

    /// How much is in use, in bytes.
    package var used: UInt64 { state.withLock(\.used) }

    /// Runs `body`, which gets no more room than up to a maximum.
    package func limited(to maximum: UInt64, _ body: () -> Void) {
        state.withLock { $0.maximum = maximum }
        body()
        state.withLock { $0.maximum = .max }
    }

    /// How much room there is now.
    ///
    /// - Parameters:
    ///   - bytes: As much is asked for.
    ///   - minimum: It is waited for, a short while, that others give back as much.
    ///   - deadline: Until then at most.
    /// - Returns: More or less than `bytes`.
    package func reserve(
        _ bytes: UInt64, atLeast minimum: UInt64? = nil, until deadline: Instant = .now
    ) -> UInt64 {
        let now = state.withLock(\.self)
        let free = min(now.content, now.maximum).saturatingSubtract(now.used)
        if free >= bytes { return free }
        let minimum = now.used.saturatingAdd(minimum ?? bytes)
        let wanted = min(max(now.used.saturatingAdd(bytes), minimum), now.maximum)
        guard minimum <= wanted else {
            state.withLock { $0.limit = .totalBytes }
            return free
        }
        func ask(verifies: Bool) -> UInt64? {
            // Where it can't be noted, there will be no room for a copy either.
            guard
                let answer = try? directory.grant(
                    wanted, atLeast: minimum, to: spool, insteadOf: now.claim, within: limits,
                    verifies: verifies)
            else { return nil }
            state.withLock { $0.limit = answer.limit }
            return answer.granted
        }
        var granted = ask(verifies: true)
        if granted == nil, Instant.now < deadline {
            let patience = state.withLock { state in
                // A test with many stores is held up no longer than one with a single one.
                let end = state.patienceEnd ?? Instant.now.advanced(bySeconds: Self.patience)
                state.patienceEnd = end
                return min(deadline, end)
            }
            granted = Self.waiting(until: patience) {
                ask(verifies: false)
            } whether: {
                directory.maySoonHave(minimum.saturatingSubtract(now.claim), besides: spool)
            }
        }
        guard let granted else { return free }
        state.withLock { state in
            state.claim = max(state.claim, granted)
            state.content = granted
        }
        return granted - now.used
    }

    /// Takes room, if there is that much.
    package func take(_ bytes: UInt64, until deadline: Instant = .now) -> Bool {
        guard reserve(bytes, until: deadline) >= bytes else { return false }
        state.withLock { $0.used = $0.used.saturatingAdd(bytes) }
        return true
    }

    /// Gives back what was taken.
    package func giveBack(_ bytes: UInt64) {
        state.withLock { $0.used = $0.used.saturatingSubtract(bytes) }
    }

    /// Gives back what was asked for and is not needed.
    package func settle() {
        let now = state.withLock(\.self)
        let needed = max(now.used, min(Spool.ordinaryClaim, limits.totalBytes / 256))
        guard now.claim > needed, (try? directory.reduce(now.claim, of: spool, to: needed)) != nil else {
            return
        }
        state.withLock { state in
            state.claim = needed
            state.content = min(state.content, needed)
        }
    }
}
