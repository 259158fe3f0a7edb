internal import FailureArtifactsAnalysis
internal import FailureArtifactsSQLite

/// Rows as a JSON array of objects, a row a line.
///
/// The objects keep the columns' order, and an array of any length is written as it comes; that is why this
/// does not go through an encoder.
struct JSONRowRenderer: RowRenderer {
    private let output: TextOutput
    /// With quotes, colon and what precedes them.
    private var keys: [String] = []
    private var isFirst = true

    init(output: TextOutput) {
        self.output = output
    }

    mutating func begin(columns: [String]) throws {
        keys = Self.distinct(columns).enumerated().map { index, name in
            (index == 0 ? "{" : ",") + JSONText.string(name) + ":"
        }
        try output.write("[")
    }

    mutating func write(row: [Value]) throws {
        var line = isFirst ? "\n" : ",\n"
        isFirst = false
        for (key, value) in zip(keys, row) {
            line += key + Self.text(of: value)
        }
        try output.write(line + "}")
    }

    mutating func end() throws {
        try output.write(isFirst ? "]\n" : "\n]\n")
    }

    /// The names, where later ones of the same name get a number: `id`, `id_2`.
    static func distinct(_ names: [String]) -> [String] {
        var taken: Set<String> = []
        let all = Set(names)
        return names.map { name in
            var result = name
            var number = 1
            while taken.contains(result) || (number > 1 && all.contains(result)) {
                number += 1
                result = "\(name)_\(number)"
            }
            taken.insert(result)
            return result
        }
    }

    private static func text(of value: Value) -> String {
        switch value {
        case .null: return "null"
        case .integer(let number): return String(number)
        case .real(let number): return JSONText.number(number)
        case .text(let text): return JSONText.string(text)
        case .blob(let bytes): return "{\"base64\":\"\(JSONText.base64(bytes))\"}"
        }
    }
}
