import FailureArtifactsTestStores

/// Mutates inputs as a fuzzer does, but reproducibly: the results depend only on the seed.
struct Mutator {
    private var random: SplitMix

    init(seed: UInt64) { random = SplitMix(seed: seed) }

    private mutating func number(below limit: Int) -> Int {
        Int(random.next(below: UInt64(max(limit, 1))))
    }

    /// Returns a mutated input, made from one of `seeds` or from parts of two.
    mutating func input(from seeds: [[UInt8]]) -> [UInt8] {
        var bytes = seeds[number(below: seeds.count)]
        for _ in 0...number(below: 4) { change(&bytes, seeds) }
        return bytes
    }

    private mutating func change(_ bytes: inout [UInt8], _ seeds: [[UInt8]]) {
        guard !bytes.isEmpty else { return bytes = seeds[number(below: seeds.count)] }
        // Prefer places near the start and the end, where headers are.
        let reach = number(below: 3) == 0 ? bytes.count : min(200, bytes.count)
        let offset = number(below: reach)
        let place = number(below: 2) == 0 ? offset : bytes.count - 1 - offset
        let length = min(1 << number(below: 10), bytes.count - place)
        let interesting: [UInt8] = [0, 1, 0x7F, 0x80, 0xFF, UInt8(ascii: "9"), UInt8(ascii: "\"")]
        switch number(below: 8) {
        case 0: bytes[place] ^= 1 << UInt8(number(below: 8))
        case 1: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 2:
            let value = interesting[number(below: interesting.count)]
            for index in place..<min(place + 1 << number(below: 4), bytes.count) { bytes[index] = value }
        case 3: bytes.removeSubrange(place..<place + length)
        case 4: bytes.insert(contentsOf: bytes[place..<place + length], at: number(below: bytes.count))
        case 5: bytes.removeLast(bytes.count - place)
        case 6:
            let other = seeds[number(below: seeds.count)]
            guard !other.isEmpty else { return }
            let start = number(below: other.count)
            let part = other[start..<min(start + length, other.count)]
            bytes.replaceSubrange(place..<min(place + part.count, bytes.count), with: part)
        default:
            // Change a four-byte number slightly.
            guard place + 4 <= bytes.count else { return }
            let isBig = number(below: 2) == 0
            var value: UInt32 = 0
            for index in 0..<4 {
                value = value << 8 | UInt32(bytes[place + (isBig ? index : 3 - index)])
            }
            value = value &+ UInt32(number(below: 33)) &- 16
            for index in 0..<4 {
                bytes[place + (isBig ? 3 - index : index)] = UInt8(
                    truncatingIfNeeded: value >> (8 * UInt32(index)))
            }
        }
    }
}
