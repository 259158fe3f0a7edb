/// The parts of the configuration that are read for each test and each store.
///
/// They are kept apart because they are only numbers and Booleans. In a debug build, copying the configuration or
/// comparing its modes costs as much as half of the work for a store.
struct Policy {
    let isOff: Bool
    /// True if the stores of tests are discovered.
    let isWatching: Bool
    /// The maximum size of a store whose lost content is kept, in bytes.
    let maximumKeptBytes: UInt64
    /// True if the content of a store is kept as it was when a test began to use it.
    let keepsBaselines: Bool
    /// True if passing tests may have to be captured.
    let capturesPassingTests: Bool
    let packsInBackground: Bool

    init(_ configuration: CaptureConfiguration) {
        isOff = configuration.mode == .off
        isWatching = !isOff && configuration.discoversStores
        maximumKeptBytes = configuration.maximumKeptBytes
        keepsBaselines = configuration.baseline
        capturesPassingTests = !isOff && configuration.capturesPassingTests != .never
        packsInBackground = configuration.packsInBackground
    }
}
