/// Decompression of small contents in memory.
package enum RawDeflate {
    /// Decompresses raw deflate data (RFC 1951).
    ///
    /// - Parameters:
    ///   - bytes: The compressed data. It may be untrusted.
    ///   - maximumBytes: The maximum size of the result.
    /// - Returns: The content; nil if the data is damaged or truncated, or if the content is too large.
    package static func content(of bytes: [UInt8], maximumBytes: Int) -> [UInt8]? {
        guard var inflater = try? Inflater() else { return nil }
        var result: [UInt8] = []
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { output.deallocate() }
        return bytes.withUnsafeBytes { all in
            var input = all[...]
            while true {
                guard
                    let step = try? inflater.step(UnsafeRawBufferPointer(rebasing: input), into: output)
                else { return nil }
                input = input.dropFirst(step.consumed)
                guard result.count + step.produced <= maximumBytes else { return nil }
                result += output[..<step.produced]
                if step.isFinished { return result }
                if step.consumed == 0, step.produced == 0 { return nil }
            }
        }
    }
}
