/// Returns a small part of a list that is still enough.
///
/// Finds one needed item after the other: the last item of the shortest prefix that is enough together with the needed
/// items. With k needed items among n, the predicate is called about k · (1 + log₂ n) times. If adding items never makes
/// a sufficient part insufficient, none of the returned items can be left out.
///
/// The algorithm is a simpler relative of delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
/// Failure-Inducing Input", 2002) and of QuickXplain (Junker, 2004). It needs fewer calls than the former if few of many
/// items are needed, as in a store.
///
/// - Parameters:
///   - items: The items; together they are enough. Of several sufficient parts, one with early items is found.
///   - isEnough: Returns true if the given items, which are in no particular order, are enough. The items of the last
///     call that returned true include those of all later calls.
/// - Returns: The needed items.
func minimized<Item>(_ items: [Item], by isEnough: ([Item]) throws -> Bool) rethrows -> [Item] {
    var needed: [Item] = []
    var rest = items[...]
    while !rest.isEmpty, try !isEnough(needed) {
        // `low` items aren't enough, and `high` items are.
        var (low, high) = (0, rest.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if try isEnough(needed + rest.prefix(middle)) { high = middle } else { low = middle }
        }
        rest = rest.prefix(high)
        needed.append(rest.removeLast())
    }
    return needed
}
