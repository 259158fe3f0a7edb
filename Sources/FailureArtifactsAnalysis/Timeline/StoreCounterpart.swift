/// The pairing of the stores of two runs by their names.
package enum StoreCounterpart {
    /// Returns the name of the store of another run that corresponds to a store.
    ///
    /// Stores have the same name in each run, or names that differ only in UUIDs and numbers, such as the identifier of the
    /// process. Such a store needs to be the only one with a name of that form in both runs.
    ///
    /// Nil if no store corresponds.
    package static func name(of name: String, among own: [String], in others: [String]) -> String? {
        if others.contains(name) { return name }
        let digit = "[0-9A-Fa-f]"
        let uuid = "\(digit){8}-\(digit){4}-\(digit){4}-\(digit){4}-\(digit){12}"
        guard let varying = try? Regex("\(uuid)|[0-9]+") else { return nil }
        // A name has no control characters.
        func form(of name: String) -> String { name.replacing(varying, with: "\0") }
        let common = form(of: name)
        guard common != name, own.count(where: { form(of: $0) == common }) == 1 else { return nil }
        let found = others.filter { form(of: $0) == common }
        return found.count == 1 ? found[0] : nil
    }
}
