internal import FailureArtifactsAnalysis

/// Writes a JSON document in parts, so that it need not be in memory.
///
/// The items of arrays and the fields of the outermost object are on lines of their own.
final class JSONStream {
    enum Container: String {
        case object = "{}"
        case array = "[]"
    }

    private let output: TextOutput
    /// The containers that have begun and not ended, from the outermost one.
    private var containers: [(kind: Container, isEmpty: Bool)] = []

    init(_ output: TextOutput) { self.output = output }

    /// Begins an object or an array; in an object, it has a name.
    func begin(_ kind: Container, as name: String? = nil) throws {
        try output.write(start(name) + kind.rawValue.prefix(1))
        containers.append((kind, true))
    }

    /// Writes an item of an array, or a field of an object.
    func write(_ value: JSONValue, as name: String? = nil) throws {
        try output.write(start(name) + value.json)
    }

    /// Ends the innermost container.
    func end() throws {
        let (kind, isEmpty) = containers.removeLast()
        guard containers.isEmpty else { return try output.write(String(kind.rawValue.suffix(1))) }
        try output.write((kind == .array && !isEmpty ? "\n" : "") + kind.rawValue.suffix(1) + "\n")
    }

    private func start(_ name: String?) -> String {
        guard let (kind, isEmpty) = containers.last else { return "" }
        containers[containers.count - 1].isEmpty = false
        let isOnOwnLine = kind == .array || (containers.count == 1 && !isEmpty)
        return (isEmpty ? "" : ",") + (isOnOwnLine ? "\n" : "")
            + (name.map { JSONText.string($0) + ":" } ?? "")
    }
}
