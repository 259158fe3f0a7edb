package import FailureArtifactsSystem

// What the processes of a run agree on: who may still put how much into the directory.
//
// Each step takes microseconds: it locks a small file, see ``AccountFile``, and adds to the numbers in it. The
// directory is listed only where there is no such file yet, and before something is refused.
extension ArtifactsDirectory {
    /// What the directory holds.
    package struct Usage: Equatable, Sendable {
        package var bundles = 0
        /// Of the bundles' files.
        package var bytes: UInt64 = 0
    }

    /// How many bundles there are now, of all processes, and how large they are: the directory is listed.
    ///
    /// What is in the making counts as what it was granted.
    package func usage() throws(SystemError) -> Usage {
        let account = try listed()
        return Usage(
            bundles: Int(clamping: account.bundles.saturatingAdd(account.captures)), bytes: account.bytes
        )
    }

    /// How many failures have left no bundle so far, for want of room; 0 where nothing is known.
    package var failuresLeftOut: UInt64 {
        (try? AccountFile(in: path, creating: false).account())?.leftOut ?? 0
    }

    /// Counts a failure that has left no bundle.
    package func countFailureLeftOut() {
        try? withAccount { (account, file) throws(SystemError) in
            account.leftOut = account.leftOut.saturatingAdd(1)
            try file.write(account)
        }
    }

    /// Lists the directory: whoever has put bundles there or taken them away does not count.
    package func recount() {
        guard (try? FileSystem.status(of: Path.join(path, AccountFile.name))) != nil else { return }
        try? withAccount { (account, file) throws(SystemError) in
            try recount(&account)
            try file.write(account)
        }
    }

    // MARK: Steps

    /// Creates a hidden directory for a capture, if there may be one more bundle.
    ///
    /// - Parameters:
    ///   - process: Whose capture.
    ///   - limits: What the directory may hold.
    /// - Returns: The directory, what it was granted, and how much of that it may use for more than a description.
    /// - Throws: A `SystemError`, the failure to create it, or ``LimitReached``.
    func makeSpool(
        of process: ProcessIdentity, within limits: DirectoryLimits
    ) throws -> (spool: Spool, claim: UInt64, forContent: UInt64, limit: DirectoryLimits.Limit) {
        try withAccount { account, file in
            let claim = firstClaim(within: limits)
            func problem(_ account: DirectoryAccount) -> DirectoryLimits.Limit? {
                if account.bundles.saturatingAdd(account.captures) >= limits.bundles { return .bundles }
                return account.bytes.saturatingAdd(claim) > limits.totalBytes ? .totalBytes : nil
            }
            if problem(account) != nil, try recountIfChanged(&account) { try file.write(account) }
            if let problem = problem(account) { throw refusal(problem, limits) }
            let (room, limit) = room(beside: account, within: limits)
            var next = account
            next.add(capture: claim)
            try file.write(next)
            do {
                let spool = try makeUncountedSpool(of: process)
                do {
                    try spool.recordClaim(claim)
                } catch {
                    // On a full disk: it counts as what it is without that.
                    next = account
                    next.add(capture: Spool.ordinaryClaim)
                    try file.write(next)
                }
                return (spool, spool.claim, min(room, claim), limit)
            } catch {
                try file.write(account)
                throw error
            }
        }
    }

    /// Grants a capture more.
    ///
    /// Several processes may ask at once: what one was granted is no longer there for the others.
    ///
    /// - Parameters:
    ///   - bytes: What the content of the spool needs in all.
    ///   - minimum: With less it can do nothing, so that it gets no more.
    ///   - spool: The capture's.
    ///   - held: What it was granted.
    ///   - limits: What the directory may hold.
    ///   - verifies: Whether to look, before anything is refused, at what is there.
    /// - Returns: What its content may have now, nil for no more than before, and what sets the limit.
    /// - Throws: The failure to note it; then all is as it was.
    func grant(
        _ bytes: UInt64, atLeast minimum: UInt64, to spool: Spool, insteadOf held: UInt64,
        within limits: DirectoryLimits, verifies: Bool
    ) throws(SystemError) -> (granted: UInt64?, limit: DirectoryLimits.Limit) {
        try withAccount { (account, file) throws(SystemError) in
            func others() -> DirectoryAccount {
                var others = account
                others.remove(capture: held)
                return others
            }
            var (room, limit) = room(beside: others(), within: limits)
            if room < bytes, verifies, try recountIfChanged(&account) {
                try file.write(account)
                (room, limit) = self.room(beside: others(), within: limits)
            }
            let granted = min(bytes, room)
            guard granted >= minimum else { return (nil, limit) }
            if granted > held {
                var next = others()
                next.add(capture: granted)
                try file.write(next)
                do throws(SystemError) {
                    try spool.recordClaim(granted, insteadOf: held)
                } catch {
                    try file.write(account)
                    throw error
                }
            }
            return (granted, limit)
        }
    }

    /// Takes back what a capture does not need of what it was granted.
    func reduce(_ held: UInt64, of spool: Spool, to bytes: UInt64) throws(SystemError) {
        try withAccount { (account, file) throws(SystemError) in
            try spool.recordClaim(bytes, insteadOf: held)
            account.remove(capture: held)
            account.add(capture: bytes)
            try file.write(account)
        }
    }

    /// Removes a spool, and what it was granted.
    ///
    /// Whoever counts sees all of it or nothing.
    func remove(_ spool: Spool) {
        spool.removeContent()
        do throws(SystemError) {
            try withAccount { (account, file) throws(SystemError) in
                let claim = spool.claim
                // A bundle was counted as one when it got its name.
                let isBundle = bundle(of: spool) != nil
                spool.remove()
                guard !isBundle else { return }
                account.remove(capture: claim)
                try file.write(account)
            }
        } catch {
            spool.remove()
        }
    }

    /// The same spool in the hands of this process; only one of several who try succeeds.
    func take(_ spool: Spool) throws(SystemError) -> Spool {
        try withAccount { (_, _) throws(SystemError) in try spool.taken() }
    }

    /// Counts a capture as the bundle that it becomes.
    ///
    /// - Parameters:
    ///   - spool: The capture's.
    ///   - file: Its bundle.
    ///   - limits: What the directory may hold.
    ///   - publish: Gives the bundle its name.
    /// - Throws: What `publish` throws, or ``LimitReached``; then it counts as it did.
    func count(
        _ spool: Spool, asBundle file: String, within limits: DirectoryLimits,
        _ publish: () throws(SystemError) -> Void
    ) throws {
        let size = FileSystem.regularFile(file)?.size ?? 0
        guard size <= limits.bundleBytes else { throw refusal(.bundleBytes, limits) }
        let claim = spool.claim
        try withAccount { account, file in
            func problem(_ account: DirectoryAccount) -> DirectoryLimits.Limit? {
                // It counts among the captures.
                if account.bundles.saturatingAdd(account.captures) > limits.bundles { return .bundles }
                let others = account.bytes.saturatingSubtract(claim)
                return others.saturatingAdd(size) > limits.totalBytes ? .totalBytes : nil
            }
            if problem(account) != nil, try recountIfChanged(&account) { try file.write(account) }
            if let problem = problem(account) { throw refusal(problem, limits) }
            let isListed = try changed() == account.listed
            var next = account
            next.add(bundle: size)
            try file.write(next)
            do {
                try publish()
            } catch {
                try file.write(account)
                throw error
            }
            // From here on there is a bundle, and nothing may say that there is none: whoever believed it would
            // make another one. Numbers that stay too high are noticed before anything is refused.
            next.remove(capture: claim)
            if isListed, let changed = try? changed() { next.listed = changed }
            try? file.write(next)
        }
    }

    /// Removes the account, and whatever `body` removes with it, while nobody else counts on it.
    func removeAccount(and body: () throws(SystemError) -> Void) throws(SystemError) {
        do throws(SystemError) {
            let file = try AccountFile(in: path, creating: false)
            // Whoever is about to make a capture waits for the lock.
            let account = try listed()
            if account.captures == 0 && account.bundles == 0 {
                try FileSystem.remove(Path.join(path, AccountFile.name))
                try body()
            }
            file.unlock()
        } catch  where error.isNotFound {
            try body()
        }
    }

    /// Whether so much that others were granted may soon be there again, because they live.
    func maySoonHave(_ bytes: UInt64, besides spool: Spool? = nil) -> Bool {
        var bytes = bytes
        for other in spools where other.path != spool?.path && !other.isAbandoned {
            let claim = other.claim
            if claim >= bytes { return true }
            bytes -= claim
        }
        return false
    }

    // MARK: Numbers

    func refusal(_ limit: DirectoryLimits.Limit, _ limits: DirectoryLimits) -> LimitReached {
        LimitReached(limit: limit, path: path, limits: limits)
    }

    /// What a capture gets before it is known what there is to be copied: little where there is little.
    private func firstClaim(within limits: DirectoryLimits) -> UInt64 {
        min(Spool.ordinaryClaim, limits.totalBytes / 256, spareBytes(of: limits) / 256)
    }

    /// What a capture may have in all, and by which limit.
    private func room(
        beside others: DirectoryAccount, within limits: DirectoryLimits
    ) -> (UInt64, DirectoryLimits.Limit) {
        // As if nothing that was granted were written yet, and all of it were written twice: as copies and packed.
        let spare = (spareBytes(of: limits) / 2).saturatingSubtract(others.captureBytes)
        let rooms: [(UInt64, DirectoryLimits.Limit)] = [
            (limits.totalContentBytes.saturatingSubtract(others.bytes), .totalBytes),
            (limits.bundleContentBytes, .bundleBytes), (spare, .freeBytes),
        ]
        return rooms.min { $0.0 < $1.0 } ?? rooms[0]
    }

    private func spareBytes(of limits: DirectoryLimits) -> UInt64 {
        guard limits.freeBytes > 0, let free = FileSystem.freeBytes(ofVolumeAt: path) else {
            return .max
        }
        return free.saturatingSubtract(limits.contentFreeBytes)
    }

    // MARK: The account

    /// Runs `body` while no other thread or process is in such a call for this directory.
    private func withAccount<Result>(
        _ body: (inout DirectoryAccount, borrowing AccountFile) throws -> Result
    ) throws -> Result {
        let file = try AccountFile(in: path, creating: true)
        var account = try account(in: file)
        return try body(&account, file)
    }

    func withAccount<Result>(
        _ body: (inout DirectoryAccount, borrowing AccountFile) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        let file = try AccountFile(in: path, creating: true)
        var account = try account(in: file)
        return try body(&account, file)
    }

    private func account(in file: borrowing AccountFile) throws(SystemError) -> DirectoryAccount {
        if let account = try file.account() { return account }
        let account = try listed()
        try file.write(account)
        return account
    }

    /// When an entry of the directory was changed last.
    func changed() throws(SystemError) -> UInt64 {
        UInt64(clamping: try FileSystem.status(of: path)?.modified ?? 0)
    }

    /// Lists the directory where somebody may have changed it since it was listed, or has died over a capture.
    ///
    /// - Returns: Whether the account is another one now.
    private func recountIfChanged(_ account: inout DirectoryAccount) throws(SystemError) -> Bool {
        let old = account
        if try changed() == account.listed {
            let captures = try captures()
            (account.captures, account.captureBytes) = (captures.count, captures.bytes)
        } else {
            try recount(&account)
        }
        return account != old
    }

    private func recount(_ account: inout DirectoryAccount) throws(SystemError) {
        let leftOut = account.leftOut
        account = try listed()
        account.leftOut = leftOut
    }

    private func listed() throws(SystemError) -> DirectoryAccount {
        var account = DirectoryAccount()
        account.listed = try changed()
        for name in try FileSystem.contents(ofDirectory: path) where name.hasSuffix(".zip") {
            // A bundle that somebody has just removed takes no place.
            account.add(bundle: FileSystem.regularFile(Path.join(path, name))?.size ?? 0)
        }
        let captures = try captures()
        (account.captures, account.captureBytes) = (captures.count, captures.bytes)
        return account
    }

    private func captures() throws(SystemError) -> (count: UInt64, bytes: UInt64) {
        spools.filter { bundle(of: $0) == nil }.reduce((0, 0)) { sum, spool in
            (sum.0 + 1, sum.1.saturatingAdd(spool.claim))
        }
    }
}
