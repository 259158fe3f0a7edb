internal import FuzzTargets

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

// libFuzzer defines `main` (https://llvm.org/docs/LibFuzzer.html#fuzz-target). The variable FUZZ_TARGET names
// the target. With FUZZ_SEEDS, the program only writes the target's seeds to that directory.

private let target: FuzzTarget = {
    let names = FuzzTarget.all.map(\.name).joined(separator: ", ")
    guard let name = getenv("FUZZ_TARGET").map({ String(cString: $0) }),
        let target = FuzzTarget.all.first(where: { $0.name == name })
    else {
        print("Set FUZZ_TARGET to one of these: \(names).")
        exit(64)
    }
    return target
}()

/// Called by libFuzzer once, before the first input.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>
) -> CInt {
    if let directory = getenv("FUZZ_SEEDS") {
        for (index, seed) in target.seeds.enumerated() {
            let file = fopen("\(String(cString: directory))/seed-\(index)", "wb")
            fwrite(seed, 1, seed.count, file)
            fclose(file)
        }
        exit(0)
    }
    return 0
}

/// Called by libFuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
