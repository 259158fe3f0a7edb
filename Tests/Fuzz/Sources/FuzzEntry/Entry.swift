internal import FuzzTargets

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

// libFuzzer has the `main` (https://llvm.org/docs/LibFuzzer.html#fuzz-target). What is to be fuzzed is named by
// the variable FUZZ_TARGET; with FUZZ_SEEDS its seeds are written into that directory, and nothing else is done.

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

/// Called once, before the first input.
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

/// Called for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
