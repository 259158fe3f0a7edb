internal import FailureArtifactsReading

/// The texts that code has made of a result's rows, such as `Ann: 3 items, 46.12` of the row `('Ann', 3, 4612)`.
struct RowFormat: Equatable {
    private enum Piece: Equatable {
        case character(Character)
        case column(Int)
    }

    private let pieces: [Piece]

    /// The columns whose values are in the texts.
    var columns: [Int] {
        Set(pieces.compactMap { if case .column(let column) = $0 { column } else { nil } }).sorted()
    }

    /// Finds the places of the columns in the texts, which differ; nil if there is no format that fits all.
    init?(of texts: [String], in rows: [[StoredValue]]) {
        guard Set(texts).count > 1, texts.count == rows.count else { return nil }
        let cells = rows[0].enumerated().map { (column: $0, text: Self.text(of: $1)) }
            .filter { !$0.text.isEmpty }.sorted { $0.text.count > $1.text.count }
        var rest = FailureMessage.withoutPoints(texts[0])[...]
        var pieces: [Piece] = []
        while let character = rest.first {
            if let cell = cells.first(where: { rest.hasPrefix($0.text) }) {
                pieces.append(.column(cell.column))
                rest = rest.dropFirst(cell.text.count)
            } else {
                pieces.append(.character(character))
                rest = rest.dropFirst()
            }
        }
        self.pieces = pieces
        guard gives(texts, of: rows) else { return nil }
    }

    /// True if the texts are those of the rows, in their order.
    func gives(_ texts: [String], of rows: [[StoredValue]]) -> Bool {
        texts.count == rows.count
            && zip(texts, rows).allSatisfy { FailureMessage.withoutPoints($0) == text(of: $1) }
    }

    private func text(of row: [StoredValue]) -> String {
        pieces.map { piece in
            switch piece {
            case .character(let character): String(character)
            case .column(let column): row[safe: column].map(Self.text) ?? ""
            }
        }.joined()
    }

    private static func text(of value: StoredValue) -> String {
        FailureMessage.withoutPoints(value.string ?? value.number.map(ValueText.plain) ?? "")
    }
}
