/// An archive in the format of `NSKeyedArchiver`, which Core Data uses for its model and for transformable values.
///
/// It is a property list. `$objects` has the objects, which refer to each other by their positions, and `$top` has the
/// positions of the first ones. Nothing is instantiated, and archives may be untrusted.
struct KeyedArchive {
    let objects: [PropertyList]
    /// The first object.
    let root: PropertyList

    /// Reads an archive; nil if the property list is anything else.
    init?(_ list: PropertyList) {
        guard case .string? = list["$archiver"], case .array(let objects)? = list["$objects"],
            case .dictionary(let top)? = list["$top"],
            let reference = top["root"] ?? top.min(by: { $0.key < $1.key })?.value,
            case .uid(let index) = reference, objects.indices.contains(index)
        else { return nil }
        self.objects = objects
        root = objects[index]
    }

    /// Returns the object that a value refers to, or a value that is no reference; nil for none.
    func object(_ value: PropertyList?) -> PropertyList? {
        guard case .uid(let index)? = value else { return value }
        // The first object stands for nil.
        return index > 0 && index < objects.count ? objects[index] : nil
    }

    /// Returns the name of an object's class; nil for texts, numbers and other values without a class.
    func className(of object: PropertyList?) -> String? {
        text(self.object(object?["$class"])?["$classname"])
    }

    /// Returns a text; nil for other values.
    func text(_ value: PropertyList?) -> String? {
        if case .string(let text)? = object(value) { return text }
        return nil
    }

    /// Returns a number; nil for other values.
    func integer(_ value: PropertyList?) -> Int64? {
        if case .integer(let number)? = object(value) { return number }
        return nil
    }

    /// Returns the elements of an array or a set.
    func elements(_ value: PropertyList?) -> [PropertyList] {
        if case .array(let values)? = object(value)?["NS.objects"] { return values }
        return []
    }

    /// Returns the elements of a dictionary.
    func pairs(_ value: PropertyList?) -> [(key: PropertyList, value: PropertyList)] {
        guard let object = object(value), case .array(let keys)? = object["NS.keys"],
            case .array(let values)? = object["NS.objects"], keys.count == values.count
        else { return [] }
        return zip(keys, values).map { ($0, $1) }
    }

    // MARK: - Text

    /// The maximum number of characters of a text.
    private static let maximumLength = 1000

    /// The first object on one line, such as `Address(city: "Tokyo", numbers: [1, 2])`; nil if it is too long.
    var line: String? {
        var result = ""
        return add(root, to: &result, depth: 0) ? result : nil
    }

    /// Adds a value to a text.
    ///
    /// - Returns: False if it is too long or nested too deeply, as an object that refers to itself is.
    private func add(_ value: PropertyList?, to result: inout String, depth: Int) -> Bool {
        guard result.utf8.count <= Self.maximumLength, depth < 16 else { return false }
        guard let object = object(value) else {
            result += "nil"
            return true
        }
        guard case .dictionary(let fields) = object, let name = className(of: object) else {
            result += object.literal
            return result.utf8.count <= Self.maximumLength
        }
        if let known = known(name, object) {
            result += known
            return result.utf8.count <= Self.maximumLength
        }
        let isList = fields["NS.objects"] != nil
        let pairs = self.pairs(object)
        if isList, fields["NS.keys"] == nil {
            return add(elements(object).map { (nil, $0) }, in: ("[", "]"), to: &result, depth)
        }
        if isList {
            guard pairs.count <= Self.maximumLength else { return false }
            let items = pairs.enumerated().map { position, pair in
                let key = text(pair.key) ?? self.object(pair.key)?.literal ?? "nil"
                return (key: key, position: position, value: pair.value)
            }
            let sorted = items.sorted { ($0.key, $0.position) < ($1.key, $1.position) }
            return add(sorted.map { ($0.key, $0.value) }, in: ("{", "}"), to: &result, depth)
        }
        let own = fields.filter { $0.key != "$class" }.sorted { $0.key < $1.key }
        return add(own.map { ($0.key, $0.value) }, in: (name + "(", ")"), to: &result, depth)
    }

    private func add(
        _ items: [(name: String?, value: PropertyList)], in ends: (String, String),
        to result: inout String, _ depth: Int
    ) -> Bool {
        result += ends.0
        for (index, item) in items.enumerated() {
            if index > 0 { result += ", " }
            if let name = item.name { result += SafeText.cell(name) + ": " }
            guard add(item.value, to: &result, depth: depth + 1) else { return false }
        }
        result += ends.1
        return result.utf8.count <= Self.maximumLength
    }

    /// Returns the text of an object of Foundation that stands for one value; nil for others.
    private func known(_ name: String, _ object: PropertyList) -> String? {
        switch name {
        case "NSString", "NSMutableString": object["NS.string"]?.literal
        case "NSDate":
            if case .real(let seconds)? = object["NS.time"] {
                PropertyList.date(seconds).literal
            } else {
                nil
            }
        case "NSData", "NSMutableData": object["NS.data"]?.literal
        case "NSURL": text(object["NS.relative"]).map { "<\(SafeText.cell($0))>" }
        case "NSUUID":
            if case .data(let bytes)? = object["NS.uuidbytes"] { ValueText.uuid(bytes) } else { nil }
        default: nil
        }
    }
}
