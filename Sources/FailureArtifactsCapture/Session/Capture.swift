internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Why there is no bundle, as a full sentence.
struct CaptureError: Error, CustomStringConvertible {
    let description: String
}

/// The bundle of one failing test in the making: its spooled copies, and what is known about them.
///
/// Each time the test has something to tell, it is spooled, packed together with what the bundle holds
/// already, and published in one step. Between those times nothing but the bundle is on the disk.
final class Capture: Sendable {
    struct State {
        var stores: [BundleMetadata.Store] = []
        var snapshots: [BundleMetadata.Snapshot] = []
        var attachments: [BundleMetadata.Attachment] = []
        var attachmentNames = UniqueNames()
        var warnings: [String] = []
        var saidWarnings = 0
        var limitsHit: Set<String> = []
        var spooledBytes: UInt64 = 0
        /// Of how many failures the published bundle tells.
        var publishedFailures = 0
        /// How long the test was held up until the bundle was there, in seconds.
        var duration: Double?
    }

    let configuration: CaptureConfiguration
    let registry: ConnectionRegistry
    let directory: ArtifactsDirectory
    /// The path of the published bundle, nil before; held while one is put together.
    private let published = Lock<String?>(nil)
    private let start = Instant.now
    private let date = Timestamp.now
    /// What the directory may still take, in bytes, when the capture starts.
    let budget: UInt64
    let state = Lock(State())

    /// Prepares the directory.
    ///
    /// - Throws: That it can't be written to, or holds as many bundles as it may.
    init(configuration: CaptureConfiguration, registry: ConnectionRegistry) throws(CaptureError) {
        self.configuration = configuration
        self.registry = registry
        directory = ArtifactsDirectory(path: configuration.directoryPath)
        do {
            try directory.prepare()
            let usage = try directory.usage()
            guard usage.bundles < configuration.maximumBundles else {
                throw CaptureError(
                    description:
                        "'\(directory.path)' holds \(usage.bundles) bundles, as many as it may; "
                        + "further failures leave none (FAILURE_ARTIFACTS_MAX_BUNDLES).")
            }
            budget = configuration.maximumTotalBytes - min(usage.bytes, configuration.maximumTotalBytes)
        } catch let error as CaptureError {
            throw error
        } catch {
            throw CaptureError(
                description: "No bundle can be written to '\(directory.path)': \(error). "
                    + "Set FAILURE_ARTIFACTS_DIR to a directory that can be written to.")
        }
    }

    /// Where the bundle is; nil before it is published.
    ///
    /// Waits while one is put together.
    var bundle: String? { published.withLock(\.self) }

    /// Full sentences on what could not be captured as it should be, each given out once.
    func takeWarnings() -> [String] {
        state.withLock { state in
            defer { state.saidWarnings = state.warnings.count }
            return Array(state.warnings.dropFirst(state.saidWarnings))
        }
    }

    // MARK: What the test has to tell

    /// Publishes a bundle with the stores that belong to a test, as they are now.
    ///
    /// - Parameter test: The test, on whose thread of failure this is to be called.
    /// - Throws: Why there is no bundle.
    func captureFailure(of test: RunningTest) throws(CaptureError) {
        var stores: [BundleMetadata.Store] = []
        do {
            try publish(test) { spool in
                stores = spoolStores(of: test, below: "stores", in: spool)
                state.withLock { $0.stores = stores }
            }
        } catch {
            // A disk that is too full for the stores may still take their description.
            let first = error
            do {
                try publish(test) { _ in
                    state.withLock { state in
                        state.stores = stores.map { $0.described(because: first.description) }
                        state.warnings.append(first.description)
                    }
                }
            } catch {
                state.withLock { state in state.warnings.removeAll { $0 == first.description } }
                throw error
            }
        }
    }

    /// Adds the stores as they are at a later failure.
    func captureSnapshot(label: String, at date: Timestamp, of test: RunningTest) throws(CaptureError) {
        guard bundle != nil else { return }
        try publish(test) { spool in
            let stores = spoolStores(of: test, below: "snapshots/\(label)", in: spool)
            let snapshot = BundleMetadata.Snapshot(label: label, at: date, stores: stores)
            state.withLock { $0.snapshots.append(snapshot) }
        }
    }

    /// Adds what the test had to tell after the bundle was published, if anything.
    func complete(_ test: RunningTest) throws(CaptureError) {
        guard bundle != nil else { return }
        let (failures, attachments) = test.state.withLock { ($0.failures.count, $0.attachments.count) }
        let isComplete = state.withLock { state in
            state.publishedFailures == failures && state.attachments.count == attachments
        }
        if !isComplete { try publish(test) { _ in } }
    }

    // MARK: Packing

    /// Writes the bundle, or replaces it by one that tells more.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - spoolStores: Puts copies of stores into the spool.
    /// - Throws: Why it could not be written. A bundle that was there stays.
    private func publish(
        _ test: RunningTest, spoolStores: (Spool) -> Void
    ) throws(CaptureError) {
        try published.withLock { bundle throws(CaptureError) in
            let before = state.withLock(\.self)
            do {
                let spool = try directory.makeSpool()
                defer { directory.discard(spool) }
                spoolStores(spool)
                spoolAttachments(of: test, in: spool)
                let failures = test.state.withLock(\.failures)
                let metadata = describe(test.identity, failures)
                let packed = try BundleWriter.pack(
                    metadata, from: spool, takingOver: bundle, date: date)
                if let bundle {
                    try directory.republish(packed, at: bundle)
                } else {
                    bundle = try directory.publish(packed, of: test.identity)
                }
                state.withLock { $0.publishedFailures = failures.count }
            } catch {
                // What is described must be what the bundle holds.
                state.withLock { state in
                    let warnings = state.warnings
                    state = before
                    state.warnings = warnings
                }
                throw CaptureError(
                    description: "The bundle of \(test.name) could not be written: \(error)")
            }
        }
    }

    private func describe(_ test: BundleMetadata.Test, _ failures: [FailureEvent]) -> BundleMetadata {
        let failures = failures.map(\.metadata)
        return state.withLock { state in
            let duration = state.duration ?? start.elapsed
            state.duration = duration
            return BundleMetadata(
                test: test, outcome: .failed,
                fingerprint: Fingerprint.make(test: test, outcome: .failed, first: failures.first),
                failures: failures, stores: state.stores,
                snapshots: state.snapshots.isEmpty ? nil : state.snapshots,
                attachments: state.attachments,
                environment: RunEnvironment.describe(variables: ProcessEnvironment.variables),
                capture: BundleMetadata.Capture(
                    at: date, duration: duration, limitsHit: state.limitsHit.sorted()),
                warnings: state.warnings)
        }
    }
}
