/// The properties of this process and its machine.
package enum ProcessEnvironment {
    /// The current environment variables.
    package static var variables: [String: String] {
        var result: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            if let sign = strchr(text, CInt(UInt8(ascii: "="))) {
                let name = UnsafeRawBufferPointer(start: text, count: sign - text)
                result[String(decoding: name, as: UTF8.self)] = String(cString: sign + 1)
            }
            entry += 1
        }
        return result
    }

    /// The environment variable that `failure-artifacts run` sets for its processes, to an identifier of the run.
    package static let supervisionVariable = "FAILURE_ARTIFACTS_RUN"

    /// True if the process runs under `failure-artifacts run`.
    package static var isSupervised: Bool { getenv(supervisionVariable) != nil }

    /// The command line, starting with the program.
    package static var arguments: [String] { CommandLine.arguments }

    /// Returns the user's directory for caches; nil if the variables name none.
    package static func cacheDirectory(of variables: [String: String]) -> String? {
        let home = variables["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        #if os(Linux)
        let cache = variables["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return cache ?? home.map { Path.join($0, ".cache") }
        #else
        return home.map { Path.join($0, "Library/Caches") }
        #endif
    }

    package static var processID: Int { Int(getpid()) }

    /// Such as `Linux 6.1.0 (Debian GNU/Linux 12)`.
    package static var operatingSystem: String {
        var name = utsname()
        uname(&name)
        let system = string(name.sysname) + " " + string(name.release)
        return distribution.map { "\(system) (\($0))" } ?? system
    }

    /// Such as `x86_64` or `arm64`.
    package static var architecture: String {
        var name = utsname()
        uname(&name)
        return string(name.machine)
    }

    /// The name that a Linux distribution gives itself.
    private static var distribution: String? {
        guard let bytes = try? FileSystem.contents(ofFile: "/etc/os-release", limit: 64 << 10) else {
            return nil
        }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        where line.hasPrefix("PRETTY_NAME=") {
            return line.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" }
        }
        return nil
    }

    /// Converts a C array of characters, which Swift imports as a tuple.
    private static func string<Characters>(_ characters: Characters) -> String {
        withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
