/// Values of the assertion's message that a change replaced or wrote.
struct ValueMatch {
    /// The values in the message; nil if it doesn't have the replaced or the written value.
    let old, new: FailureMessage.Value?

    /// True if the change replaced one value of the message with another.
    var isBoth: Bool { old != nil && new != nil && old != new }

    /// The relevance of the change; nil if it has no value that is rare enough.
    var strength: Int? {
        let isSignificant = [old, new].compactMap(\.self).contains { !$0.isCommon }
        guard isBoth || isSignificant else { return nil }
        return isBoth ? (isSignificant ? 30 : 10) : new != nil ? 18 : 8
    }

    /// The texts of the values.
    var texts: [String] { [old, new].compactMap { $0?.text } }
}
