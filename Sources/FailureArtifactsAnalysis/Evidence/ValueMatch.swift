/// The values of the assertion's message that a change replaced or wrote.
///
/// Values that only the first operand has are the actual ones, and values that only the second one has are the
/// expected ones. A change from an expected to an actual value can explain the failure. One from an actual to an
/// expected value can't, nor can one that replaced an actual value by a value that the message doesn't name, unless the
/// assertion has its operands in the other order.
struct ValueMatch {
    /// The expected value that the change replaced; nil if it replaced none.
    let lost: FailureMessage.Value?
    /// The value that the change wrote; nil if the message doesn't have it.
    let written: FailureMessage.Value?
    /// True if the written value is an actual one.
    private let isActual: Bool
    /// True if the change can explain the failure only if the second operand is the tested one, which is unusual.
    let isInOtherOrder: Bool

    /// Finds the values; nil if the change can't explain the failure.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - old: Returns true for a value that the change replaced.
    ///   - new: Returns true for a value that the change wrote.
    init?(
        _ message: FailureMessage, old: (FailureMessage.Value) -> Bool,
        new: (FailureMessage.Value) -> Bool
    ) {
        if let match = ValueMatch(message, isInOtherOrder: false, old: old, new: new) {
            self = match
        } else if let other = message.inOtherOrder,
            let match = ValueMatch(other, isInOtherOrder: true, old: old, new: new),
            match.lost != nil, match.isActual
        {
            self = match
        } else {
            return nil
        }
    }

    private init?(
        _ message: FailureMessage, isInOtherOrder: Bool, old: (FailureMessage.Value) -> Bool,
        new: (FailureMessage.Value) -> Bool
    ) {
        let (actual, expected) = (message.actual, message.expected)
        self.isInOtherOrder = isInOtherOrder
        lost = expected.first(where: old)
        let unwanted = actual.first(where: new)
        isActual = unwanted != nil
        written = unwanted ?? (actual.contains(where: old) ? nil : expected.first(where: new))
        guard lost != nil || written != nil, lost != written else { return nil }
    }

    /// True if the change replaced an expected value with an actual one.
    var isBoth: Bool { lost != nil && isActual && !isInOtherOrder }

    /// The relevance of the change; nil if it has no value that is rare enough.
    var strength: Int? {
        let isSignificant = [lost, written].compactMap(\.self).contains { !$0.isCommon }
        guard isBoth || isSignificant else { return nil }
        if isBoth { return isSignificant ? 30 : 10 }
        if isInOtherOrder { return 8 }
        // A row that got an expected value may be one that the test didn't find.
        return isActual || written == nil ? 18 : 12
    }

    /// The texts of the values.
    var texts: [String] { [lost, written].compactMap { $0?.text } }
}
