internal import FailureArtifactsSystem

/// The source lines of the stacks in baselines, as text.
///
/// A stack's text is its hash in hexadecimal, and for each line the file, the line's number and the function, all
/// separated by tabs. Before the lines are looked up, it is the hash and ``mark`` with the addresses in the program.
struct LinesOfStacks {
    /// The hash of what the images of this process are; never 0.
    let hashOfImages: UInt64
    private let images: LoadedImages
    /// The texts that are known.
    private var texts: [UInt64: String] = [:]

    /// The program of the images.
    var program: LoadedImage? { images.images.first }

    init(in images: LoadedImages) {
        self.images = images
        var hash = FNV1a()
        for image in images.images where !image.isOfToolchain {
            hash.add("\(image.path) \(image.modified ?? 0)\n".utf8)
        }
        hashOfImages = max(hash.value, 1)
    }

    /// Returns the hash of a stack, which is the same in each process with these images.
    func hash(of stack: [UInt64]) -> UInt64 {
        var hash = FNV1a()
        for address in stack {
            withUnsafeBytes(of: images.fileAddress(ofCallBefore: address) ?? 0) { hash.add($0) }
        }
        return hash.value
    }

    /// Adds the texts of an earlier run with the same images.
    mutating func add(_ stacks: [String]) {
        for text in stacks where !text.contains(Self.mark) {
            if let hash = Self.hash(in: text) { texts[hash] = text }
        }
    }

    /// Looks up the lines of stacks that aren't known, by one call of the symbolizer.
    mutating func lookUp(_ stacks: [UInt64: [UInt64]], by symbolizer: Symbolizer, scratch: String) {
        let unknown = stacks.filter { texts[$0.key] == nil }
        if unknown.isEmpty { return }
        let sources = StatementSources(
            of: Array(unknown.values), in: images, failureFile: nil, by: symbolizer, scratch: scratch)
        for (hash, stack) in unknown {
            texts[hash] = sources.lines(of: stack).reduce(into: String(hash, radix: 16)) { text, line in
                let fields = [line.file, "\(line.line)", line.function ?? ""]
                if fields.allSatisfy({ !$0.utf8.contains { $0 < 0x20 } }) {
                    for field in fields { text += "\t" + field }
                }
            }
        }
    }

    /// Returns the text of a stack, with its lines if they are known.
    func text(of hash: UInt64, _ stack: [UInt64]) -> String {
        if let text = texts[hash] { return text }
        guard let program = images.images.first else { return String(hash, radix: 16) }
        let addresses = stack.filter { program.start < $0 && $0 <= program.end }
            .map { String($0 &- program.base, radix: 16) }
        return String(hash, radix: 16) + Self.mark + addresses.joined(separator: ",")
    }

    private static let mark = "\t@"

    private static func hash(in text: String) -> UInt64? {
        UInt64(text.prefix { $0 != "\t" }, radix: 16)
    }

    /// Returns a stack's hash and its addresses in the program, if the lines were not looked up; nil otherwise.
    static func unknown(in text: String) -> (hash: UInt64, stack: [UInt64])? {
        guard let mark = text.firstRange(of: mark), let hash = hash(in: text) else { return nil }
        return (
            hash, text[mark.upperBound...].split(separator: ",").compactMap { UInt64($0, radix: 16) }
        )
    }

    /// Parses a text, which is untrusted.
    static func lines(in text: String) -> [StatementRecord.Source] {
        let fields = text.split(separator: "\t", omittingEmptySubsequences: false).dropFirst()
        var lines: [StatementRecord.Source] = []
        var rest = fields[...]
        while rest.count >= 3, lines.count <= StatementRecord.maximumCallers {
            let (file, number, function) = (rest.removeFirst(), rest.removeFirst(), rest.removeFirst())
            guard let number = Int(number), number > 0 else { break }
            lines.append(
                .init(
                    file: String(file), function: function.isEmpty ? nil : String(function), line: number
                ))
        }
        return lines
    }
}
