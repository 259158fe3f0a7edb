/// What the configuration says that is asked for each test and each store.
///
/// Kept apart because it is numbers alone: in a debug build, to copy the configuration or to compare its modes costs
/// as much as half of what is done for a store.
struct Policy {
    let isOff: Bool
    /// Whether the stores of tests are looked for.
    let isWatching: Bool
    /// Stores of at most so many bytes are kept when they are lost.
    let maximumKeptBytes: UInt64
    /// Whether it is kept what a store held when a test began to use it.
    let keepsBaselines: Bool
    /// Whether tests that pass may have to be captured.
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
