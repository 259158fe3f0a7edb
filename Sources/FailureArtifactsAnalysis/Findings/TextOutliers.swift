internal import FailureArtifactsReading

/// The texts of a column that differ from the others in form, or from another one only in case or normalization.
struct TextOutliers {
    /// A difference from the other texts.
    enum Kind: Equatable {
        case spaceAround, empty, normalization, letterCase, form

        /// The difference, as a clause about a value.
        var clause: String {
            switch self {
            case .spaceAround: "starts or ends with white space"
            case .empty: "is empty"
            case .normalization: "differs from another one only in its Unicode normalization"
            case .letterCase: "differs from another one only in upper and lower case"
            case .form: "has another form"
            }
        }

        /// The strength of the evidence.
        var strength: Int {
            switch self {
            case .spaceAround: 30
            case .normalization: 20
            case .form, .letterCase: 14
            case .empty: 12
            }
        }
    }

    /// A text and the number of rows that have it.
    typealias Entry = (text: String, count: Double)

    let kind: Kind
    /// The odd texts.
    ///
    /// Texts that differ only in their Unicode normalization are equal as strings, but not in their bytes.
    let texts: [String]
    /// A text of the usual form or, for variants, the text that they are variants of.
    let usual: String

    /// Looks for odd texts.
    ///
    /// - Parameter values: The different texts of a column.
    init?(_ values: [Entry]) {
        func odd(_ kind: Kind, atMost part: Double, _ isOdd: (String) -> Bool) -> TextOutliers? {
            TextOutliers(kind, values, atMost: part, isOdd)
        }
        let found =
            odd(.spaceAround, atMost: 1 / 3) {
                $0.first?.isWhitespace == true || $0.last?.isWhitespace == true
            } ?? odd(.empty, atMost: 1 / 3) { $0.isEmpty } ?? Self.variants(.normalization, of: values) {
                $0
            }
            ?? Self.variants(.letterCase, of: values) { $0.lowercased() }
            ?? TextForm.usual(of: values).flatMap { form in
                odd(.form, atMost: 1 / 4) { !form.matches($0) }
            }
        guard let found else { return nil }
        self = found
    }

    private init?(
        _ kind: Kind, _ values: [Entry], atMost part: Double, _ isOdd: (String) -> Bool
    ) {
        let found = values.filter { isOdd($0.text) }
        guard !found.isEmpty, found.count <= Outliers.maximum, rows(found) <= rows(values) * part,
            let usual = values.first(where: { !isOdd($0.text) })
        else { return nil }
        (self.kind, texts, self.usual) = (kind, found.map(\.text), usual.text)
    }

    private init(_ kind: Kind, _ texts: [String], of usual: String) {
        (self.kind, self.texts, self.usual) = (kind, texts, usual)
    }

    /// Returns the texts that are equal to another one by a key; nil if many are, so that it is no exception.
    private static func variants(
        _ kind: Kind, of values: [Entry], by key: (String) -> String
    ) -> TextOutliers? {
        let groups = Dictionary(grouping: values) { key($0.text) }.values.filter { $0.count > 1 }
        guard groups.count * 4 <= values.count,
            let group = groups.min(by: { (rows($0), $0[0].text) < (rows($1), $1[0].text) })?
                .sorted(by: { $0.count > $1.count }),
            group.count <= Outliers.maximum
        else { return nil }
        // If all are as frequent, each of them may be the wrong one.
        let rare = group.filter { $0.count < group[0].count }
        return TextOutliers(kind, (rare.isEmpty ? group : rare).map(\.text), of: group[0].text)
    }

    /// Returns one or two sentences with the evidence.
    ///
    /// - Parameters:
    ///   - column: The column's name.
    ///   - count: The number of the column's different texts.
    /// - Returns: The sentences.
    func explanation(_ column: String, of count: Int) -> String {
        func quoted(_ text: String) -> String {
            StoredText.text(of: StoredValue(.text(Array(text.utf8))), width: 60)
        }
        let others = texts.filter { Array($0.utf8) != Array(usual.utf8) }
        let names = others.map(quoted).joined(separator: ", ")
        let isOne = others.count == 1
        switch kind {
        case .normalization:
            let sizes = ([usual] + others).map { "\($0.utf8.count)" }.joined(separator: " and ")
            return
                "\(quoted(usual)) is stored as \(sizes) bytes that look alike. Compare hex(\(column))."
        case .letterCase:
            return
                "\(names) \(isOne ? "equals" : "equal") \(quoted(usual)) except for upper and lower case."
        default:
            return "\(names) \(isOne ? "is" : "are") unlike the other "
                + "\(Counted.items(Int64(count - others.count), "value")) of \(column), "
                + "such as \(quoted(usual))."
        }
    }
}

private func rows(_ values: [TextOutliers.Entry]) -> Double { values.reduce(0) { $0 + $1.count } }

/// The form of structured texts, such as codes, dates, numbers and e-mail addresses.
struct TextForm {
    /// True if a text has the form.
    let matches: (String) -> Bool

    /// Returns the form that nearly all texts of a column have; nil for free text, and for names and titles.
    static func usual(of values: [TextOutliers.Entry]) -> TextForm? {
        usual(of: values, by: dateForm) { _ in true } ?? usual(of: values, by: shape, isStructured)
    }

    private static func usual(
        of values: [TextOutliers.Entry], by form: @escaping (String) -> String,
        _ isForm: ([String]) -> Bool
    ) -> TextForm? {
        let groups = Dictionary(grouping: values) { form($0.text) }
        guard
            let (usual, members) = groups.max(by: { (rows($0.value), $1.key) < (rows($1.value), $0.key) }
            ),
            !usual.isEmpty, members.count >= 3, members.count < values.count,
            rows(members) * 4 >= rows(values) * 3, isForm(members.map(\.text))
        else { return nil }
        // A code that is a word, such as GIFT among A-100 and A-101, is a name.
        let others = values.filter { form($0.text) != usual }
        if isNumbered(usual), others.contains(where: { !$0.text.contains(where: \.isNumber) }) {
            return nil
        }
        return TextForm { form($0) == usual }
    }

    /// Returns the exact form of a date or of a time; empty for other texts.
    ///
    /// Each group of digits has a fixed length, as in `2026-11-05`.
    static func dateForm(_ text: String) -> String {
        let groups = text.split { !$0.isNumber }
        let isDate =
            groups.count >= 2 && groups.allSatisfy { (2...4).contains($0.count) }
            && text.first?.isNumber == true
            && text.allSatisfy { !$0.isLetter || $0 == "T" || $0 == "Z" }
        return isDate ? String(text.map { $0.isNumber ? "9" : $0 }) : ""
    }

    /// Returns a text with runs of lower-case letters, upper-case letters and digits replaced by one character each;
    /// empty for texts without digits, which may be names.
    static func shape(_ text: String) -> String {
        // Each identifier, address and object has letters and digits in other places.
        if text.utf8.count >= 16, text.allSatisfy({ $0.isHexDigit || $0 == "-" }) { return "x" }
        if text.first == "{" || text.first == "[" { return "{" }
        if let scheme = text.firstRange(of: "://") { return String(text[..<scheme.upperBound]) }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        if parts.count == 2, parts[1].contains("."), !text.contains(where: \.isWhitespace) { return "@" }
        guard text.contains(where: \.isNumber) else { return "" }
        var result = ""
        for character in text {
            let kind: Character =
                character.isNumber
                ? "9" : character.isUppercase ? "A" : character.isLetter ? "a" : character
            if result.last != kind { result.append(kind) }
        }
        return result
    }

    /// True for a shape of letters that end with a number, such as `AB-12`.
    private static func isNumbered(_ shape: String) -> Bool {
        shape.last == "9" && shape.contains(where: \.isLetter)
            && !shape.dropLast().contains(where: \.isNumber)
    }

    /// True if texts of the same shape have a structured form, such as codes, dates and telephone numbers.
    ///
    /// Free text has words that differ in their lengths. Words of a structured form are the same in all texts, such as
    /// the unit in `12 km`, or they have the same length, such as the months in `21 Nov 2026`. Words with a number,
    /// such as `Recipe 12` or `user12`, are the names that tests make up.
    static func isStructured(_ texts: [String]) -> Bool {
        guard let first = texts.first else { return false }
        let shape = shape(first)
        guard shape.contains(where: \.isNumber) else { return true }
        if isNumbered(shape), shape.contains("a") { return false }
        guard first.contains(where: \.isWhitespace) else { return true }
        func words(_ text: String) -> [Substring] { text.split { !$0.isLetter } }
        let usual = words(first)
        let all = texts.map(words)
        return usual.count { $0.count > 3 } <= 1 && all.allSatisfy { $0.count == usual.count }
            && usual.indices.allSatisfy { index in
                all.allSatisfy { $0[index] == usual[index] }
                    || all.allSatisfy { $0[index].count == usual[index].count }
            }
    }
}
