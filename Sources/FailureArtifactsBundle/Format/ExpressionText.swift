/// The expression of a failed expectation of Swift Testing, or one of its operands.
///
/// The event stream of version 6.5 contains it.
package struct ExpressionText: Decodable {
    package let sourceCode: String
    /// Absent if the expression wasn't evaluated.
    private let value: String?
    private let children: [ExpressionText]?

    package init(sourceCode: String, value: String?, children: [ExpressionText]) {
        self.sourceCode = sourceCode
        self.value = value
        self.children = children
    }

    /// The source code with the values of its operands, such as `(a → 1) == (b → 2)`, as Swift 6.3 prints it.
    package var text: String {
        let operands = operands
        // The value of a condition says nothing, because it has failed.
        guard let value, !["false", "true", operands].contains(value),
            !operands.hasSuffix(" → \(value)")
        else { return operands }
        return "\(operands) → \(value)"
    }

    /// The source code, with the values of the operands but not its own.
    private var operands: String {
        // In 6.4, the first argument of a free function has the value (), and others have their predecessors' values.
        guard let children, children.first?.value != "()" else { return sourceCode }
        let isNegated = sourceCode.hasPrefix("!")
        var text = ""
        var rest = sourceCode[...]
        for child in children {
            guard let place = rest.place(ofOperand: child.sourceCode) else { continue }
            text += rest[..<place.lowerBound]
            rest = rest[place.upperBound...]
            // A member, or the only argument.
            let isBare = text.last == "." || text.last == "(" && rest.first == ")"
            text += isNegated ? child.operands : child.operand(isBare: isBare)
        }
        return text + rest
    }

    /// Returns the source code and the value.
    ///
    /// The children are not operands, but properties of the value.
    private func operand(isBare: Bool) -> String {
        guard let value, value != sourceCode, value != "(Function)" else { return sourceCode }
        return isBare ? "\(sourceCode) → \(value)" : "(\(sourceCode) → \(value))"
    }
}

extension Substring {
    /// Returns the first range of a text that is neither a part of a longer name nor the label of an argument.
    fileprivate func place(ofOperand text: String) -> Range<Index>? {
        func isInName(_ character: Character?) -> Bool {
            character.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false
        }
        return ranges(of: text).first { place in
            let next = self[place.upperBound...].first
            return next != ":" && !(isInName(text.last) && isInName(next))
                && !(isInName(text.first) && isInName(self[..<place.lowerBound].last))
        }
    }
}
