internal import FailureArtifactsSystem

/// A list of C strings for another program, where what this process was given stays as it is to the byte:
/// arguments and variables need not be UTF-8, and a Swift string is.
struct CommandLineBytes: ~Copyable {
    /// Ends with a nil.
    private var pointers: [UnsafeMutablePointer<CChar>?]

    /// A program's arguments.
    ///
    /// - Parameters:
    ///   - name: The first, which is the program's name.
    ///   - arguments: The others. Those that are the last of this process's own are taken as they are there.
    init(name: String, arguments: [String]) {
        let own = CommandLine.unsafeArgv
        let first = Int(CommandLine.argc) - arguments.count
        var pointers = [strdup(name)]
        for (index, argument) in arguments.enumerated() {
            let given = first > 0 ? own[first + index] : nil
            let isOwn = given.map { String(cString: $0) == argument } ?? false
            pointers.append(isOwn ? given.flatMap { strdup($0) } : strdup(argument))
        }
        self.pointers = pointers + [nil]
    }

    /// A program's environment.
    ///
    /// - Parameter environment: All of it. Variables that are this process's own are taken as they are there.
    init(environment: [String: String]) {
        var pointers: [UnsafeMutablePointer<CChar>?] = []
        var rest = environment
        var entry = environ
        while let given = entry.pointee {
            let parts = String(cString: given).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, rest[String(parts[0])] == String(parts[1]) {
                rest[String(parts[0])] = nil
                pointers.append(strdup(given))
            }
            entry += 1
        }
        pointers += rest.map { strdup($0.key + "=" + $0.value) }
        self.pointers = pointers + [nil]
    }

    deinit {
        for pointer in pointers { free(pointer) }
    }

    /// Lends the list.
    mutating func withPointers<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Result
    ) -> Result {
        pointers.withUnsafeMutableBufferPointer { body($0.baseAddress) }
    }
}
