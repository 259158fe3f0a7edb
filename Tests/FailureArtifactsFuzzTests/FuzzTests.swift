import Testing

/// Runs a fixed number of inputs for each target, the same ones each time.
///
/// `Scripts/fuzz` continues with further inputs.
///
/// An input that fails ends the process. It stays in the directory `fa-fuzz-…` of `/dev/shm` or `/tmp`.
@Suite(.serialized) struct FuzzTests {
    static let counts = [
        "zip": 3000, "bundle": 60, "metadata": 100, "statements": 150, "baseline": 100, "recorder": 300,
        "history": 300,
        "wal": 400,
        "store": 120,
        "schema": 60,
    ]

    @Test(arguments: FuzzTarget.all.map(\.name)) func mutatedInputs(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let seeds = target.seeds
        for seed in seeds { target.run(seed) }
        let count = try #require(Self.counts[name])
        for seed in 0..<count {
            var mutator = Mutator(seed: UInt64(seed))
            target.run(mutator.input(from: seeds))
        }
    }

    @Test func anInputDependsOnlyOnTheSeed() {
        let seeds = [Array("one two three".utf8), Array("four five".utf8)]
        var (first, second, other) = (Mutator(seed: 7), Mutator(seed: 7), Mutator(seed: 8))
        let inputs = (0..<20).map { _ in first.input(from: seeds) }
        #expect(inputs == (0..<20).map { _ in second.input(from: seeds) })
        #expect(inputs != (0..<20).map { _ in other.input(from: seeds) })
    }
}
