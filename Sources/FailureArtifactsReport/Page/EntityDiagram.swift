internal import FailureArtifactsAnalysis

/// A drawing of tables and foreign keys.
///
/// Tables stand to the left of the tables that refer to them.
struct EntityDiagram {
    struct Box: Equatable {
        let table: TableDetail
        /// Indices of the columns that are drawn.
        let columns: [Int]
        var x = 0
        var y = 0
        var width = 0
        var height = 0

        static func == (a: Box, b: Box) -> Bool { (a.table.name, a.x, a.y) == (b.table.name, b.x, b.y) }
    }

    /// The maximum number of tables in a drawing; more tables become a list.
    static let maximumTables = 30
    private static let maximumColumns = 14
    private static let lineHeight = 18
    private static let headHeight = 26
    private static let gap = (x: 72, y: 22)
    private static let margin = 12
    /// The height at which a column of boxes ends and the next one begins.
    private static let maximumHeight = 760

    private(set) var boxes: [Box] = []
    private(set) var width = 0
    private(set) var height = 0
    private let places: [String: Int]

    /// Lays the tables out.
    init(_ tables: [TableDetail]) {
        places = Dictionary(
            tables.enumerated().map { ($1.name.lowercased(), $0) },
            uniquingKeysWith: { first, _ in first })
        boxes = tables.map(Self.box)
        let layers = layers()
        var x = Self.margin
        for layer in 0...(layers.max() ?? 0) {
            var y = Self.margin
            var widest = 0
            for index in boxes.indices where layers[index] == layer {
                if y > Self.margin, y + boxes[index].height > Self.maximumHeight {
                    x += widest + Self.gap.x
                    y = Self.margin
                    widest = 0
                }
                boxes[index].x = x
                boxes[index].y = y
                y += boxes[index].height + Self.gap.y
                widest = max(widest, boxes[index].width)
                width = max(width, x + boxes[index].width + Self.margin)
                height = max(height, boxes[index].y + boxes[index].height + Self.margin)
            }
            if widest > 0 { x += widest + Self.gap.x }
        }
        // Room for the loops at the right of the last boxes.
        width += 34
    }

    private static func box(_ table: TableDetail) -> Box {
        let linked = Set(table.foreignKeys.flatMap(\.columns).map { $0.lowercased() })
        let indices = Array(table.columns.indices)
        // Keys take precedence over other columns.
        let important = indices.filter {
            table.columns[$0].isKey || linked.contains(table.columns[$0].name.lowercased())
        }
        let chosen = Set((important + indices.filter { !important.contains($0) }).prefix(maximumColumns))
        let shown = indices.filter(chosen.contains)
        let texts =
            shown.map { Self.label(table.columns[$0], name: 24, type: 12) } + [
                cut(table.name, 30) + "    "
            ]
        var box = Box(table: table, columns: shown)
        box.width = 34 + 8 * (texts.map { TextWidth.columns(of: $0) }.max() ?? 0)
        let rows = shown.count + (shown.count < table.columns.count ? 1 : 0)
        box.height = headHeight + lineHeight * max(rows, 1) + 8
        return box
    }

    /// Returns the layer of each table, counted from the left: right of all tables that it refers to, except in cycles.
    private func layers() -> [Int] {
        var layers = [Int?](repeating: nil, count: boxes.count)
        var visiting = Set<Int>()
        func layer(of index: Int) -> Int {
            if let known = layers[index] { return known }
            visiting.insert(index)
            var result = 0
            for key in boxes[index].table.foreignKeys {
                guard let target = places[key.table.lowercased()], !visiting.contains(target) else {
                    continue
                }
                result = max(result, layer(of: target) + 1)
            }
            visiting.remove(index)
            layers[index] = result
            return result
        }
        return boxes.indices.map(layer)
    }

    // MARK: - Drawing

    /// Returns the foreign keys as text, such as `entry.account → account.id`.
    static func relations(of tables: [TableDetail]) -> [String] {
        tables.flatMap { table in
            table.foreignKeys.map { key in
                let columns = key.columns.joined(separator: ", ")
                let targets = key.targets.isEmpty ? "" : "." + key.targets.joined(separator: ", ")
                return "\(table.name).\(columns) → \(key.table)\(targets)"
            }
        }
    }

    /// The drawing as an `svg` element.
    var svg: String {
        let label = "Entity-relationship drawing of \(Counted.items(Int64(boxes.count), "table"))"
        var result =
            "<svg class=\"erd\" role=\"img\" aria-label=\"\(label)\" width=\"\(width)\" height=\"\(height)\" "
            + "viewBox=\"0 0 \(width) \(height)\">\n"
        for box in boxes {
            for key in box.table.foreignKeys { result += edge(from: box, key) }
        }
        for box in boxes { result += Self.drawing(of: box) }
        return result + "</svg>\n"
    }

    private static func drawing(of box: Box) -> String {
        let table = box.table
        var result =
            "<rect class=\"box\" x=\"\(box.x)\" y=\"\(box.y)\" width=\"\(box.width)\" height=\"\(box.height)\" rx=\"6\"/>"
            + "<path class=\"head\" d=\"M\(box.x) \(box.y + headHeight)v-\(headHeight - 6)q0-6 6-6h\(box.width - 12)"
            + "q6 0 6 6v\(headHeight - 6)z\"/>"
            + "<text class=\"name\" x=\"\(box.x + 10)\" y=\"\(box.y + 18)\">\(HTMLText.cell(cut(table.name, 30)))</text>\n"
        var y = box.y + headHeight + 16
        for index in box.columns {
            let column = table.columns[index]
            let name = HTMLText.cell(cut(column.name, 24))
            let type = HTMLText.cell(cut(column.type.lowercased(), 12))
            let isLinked = table.foreignKeys.contains { key in
                key.columns.contains { $0.lowercased() == column.name.lowercased() }
            }
            let kind = column.isKey ? "key" : isLinked ? "link" : "column"
            result +=
                "<text class=\"\(kind)\" x=\"\(box.x + 10)\" y=\"\(y)\">\(name)</text>"
                + "<text class=\"type\" x=\"\(box.x + box.width - 10)\" y=\"\(y)\" text-anchor=\"end\">\(type)</text>\n"
            y += lineHeight
        }
        let missing = table.columns.count - box.columns.count
        if missing > 0 {
            result += "<text class=\"type\" x=\"\(box.x + 10)\" y=\"\(y)\">… \(missing) more</text>\n"
        }
        return result
    }

    private func edge(from box: Box, _ key: TableDetail.ForeignKey) -> String {
        guard let index = places[key.table.lowercased()] else { return "" }
        let target = boxes[index]
        let y1 = Self.height(of: key.columns.first, in: box)
        let y2 = Self.height(of: key.targets.first ?? Self.keyColumn(of: target), in: target)
        let x2 = target.x + target.width
        let end = "<circle class=\"edge-end\" cx=\"\(x2)\" cy=\"\(y2)\" r=\"4\"/>\n"
        // To the left if the target stands there; otherwise around the right side.
        if target.x < box.x {
            let bend = max(24, (box.x - x2) / 2)
            return "<path class=\"edge\" d=\"M\(box.x) \(y1)C\(box.x - bend) \(y1) \(x2 + bend) \(y2) "
                + "\(x2) \(y2)\"/>" + end
        }
        let x1 = box.x + box.width
        let bend = max(x1, x2) + 30
        return "<path class=\"edge\" d=\"M\(x1) \(y1)C\(bend) \(y1) \(bend) \(y2) \(x2) \(y2)\"/>" + end
    }

    private static func keyColumn(of box: Box) -> String? {
        box.table.columns.first { $0.isKey }?.name
    }

    /// Returns the vertical middle of a column's line, or of the head if the column is not drawn.
    private static func height(of column: String?, in box: Box) -> Int {
        let name = column?.lowercased()
        guard
            let row = box.columns.firstIndex(where: { box.table.columns[$0].name.lowercased() == name })
        else { return box.y + headHeight / 2 }
        return box.y + headHeight + 12 + row * lineHeight
    }

    private static func label(_ column: TableDetail.Column, name: Int, type: Int) -> String {
        cut(column.name, name) + "  " + cut(column.type, type)
    }

    private static func cut(_ text: String, _ columns: Int) -> String {
        TextWidth.shortened(SafeText.cell(text), to: columns)
    }
}
