/// The pairing of the stores of two runs by their names.
package enum StoreCounterpart {
    /// Returns the name of the store of another run that corresponds to a store.
    ///
    /// Stores have the same name in each run, or names that differ only in UUIDs and numbers, such as the identifier of the
    /// process. Such a store needs to be the only one with a name of that form in both runs.
    ///
    /// - Parameters:
    ///   - name: The store's name.
    ///   - own: The names of the stores of its run.
    ///   - others: The names of the stores of the other run.
    /// - Returns: The name; nil if no store corresponds.
    package static func name(of name: String, among own: [String], in others: [String]) -> String? {
        if others.contains(name) { return name }
        let form = form(of: name)
        guard form != name, own.count(where: { Self.form(of: $0) == form }) == 1 else { return nil }
        let found = others.filter { Self.form(of: $0) == form }
        return found.count == 1 ? found[0] : nil
    }

    /// Replaces UUIDs and numbers in a name with signs that no name has.
    private static func form(of name: String) -> String {
        let group = "[0-9A-Fa-f]"
        guard
            let uuid = try? Regex("\(group){8}-\(group){4}-\(group){4}-\(group){4}-\(group){12}"),
            let number = try? Regex("[0-9]+")
        else { return name }
        return name.replacing(uuid, with: "/").replacing(number, with: "/")
    }
}
