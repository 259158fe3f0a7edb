internal import CFailureArtifactsShared
internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Finds the source lines of addresses.
///
/// It runs `llvm-symbolizer`, which is part of Swift's toolchain. The process doesn't notice that program; see
/// `child.h`. Apple platforms have no such way to start one, so addresses have no lines there.
package final class Symbolizer: Sendable {
    /// An address in a file.
    private struct Place: Hashable {
        let path: String
        let modified: Int64?
        let offset: UInt64
    }

    private struct State {
        /// The frames of each address that was looked up; none for an address without source.
        var known: [Place: [StatementRecord.Source]] = [:]
        /// True after the program has reached the time limit.
        ///
        /// It isn't run again.
        var isTooSlow = false
    }

    package static let shared = Symbolizer(
        program: findProgram(searchPath: ProcessEnvironment.variables["PATH"] ?? ""), timeLimit: 10)

    private let program: String?
    private let timeLimit: Double
    private let state = Lock(State())

    /// Uses a program, or finds no lines without one; the time limit of a run is in seconds.
    package init(program: String?, timeLimit: Double) {
        self.program = program
        self.timeLimit = timeLimit
    }

    /// Finds `llvm-symbolizer`, beside `swift` or in the search path.
    package static func findProgram(searchPath: String) -> String? {
        let directories = searchPath.split(separator: ":").map(String.init)
        let toolchains = directories.compactMap { FileSystem.realPath(of: Path.join($0, "swift")) }
            .map(Path.directory)
        return (toolchains + directories).map { Path.join($0, "llvm-symbolizer") }
            .first { FileSystem.regularFile($0) != nil && access($0, X_OK) == 0 }
    }

    /// Finds the frames, the innermost first, at those return addresses that have known source.
    ///
    /// Each address is looked up once per process. A file that has changed since the process loaded it isn't used. The
    /// directory is an existing one for the program's input and output.
    package func frames(
        at addresses: Set<UInt64>, in images: LoadedImages, scratch directory: String
    ) -> [UInt64: [StatementRecord.Source]] {
        var places: [UInt64: Place] = [:]
        for address in addresses {
            guard let index = images.indexOfImage(ofCallBefore: address) else { continue }
            let image = images.images[index]
            places[address] = Place(
                path: image.path, modified: image.modified, offset: address &- image.base)
        }
        let (known, isTooSlow) = state.withLock { ($0.known, $0.isTooSlow) }
        let unknown = Set(places.values).filter { known[$0] == nil }
        let changed = Set(
            Set(unknown.map(\.path)).filter { path in
                images.images.contains { $0.path == path && !$0.isUnchanged }
            })
        let found = unknown.filter { !changed.contains($0.path) }
        if !found.isEmpty, !isTooSlow, let program {
            lookUp(Array(found), with: program, scratch: directory)
        }
        return state.withLock { state in
            places.compactMapValues { place in state.known[place].flatMap { $0.isEmpty ? nil : $0 } }
        }
    }

    /// Runs the program, and adds the results to the known ones.
    private func lookUp(_ places: [Place], with program: String, scratch directory: String) {
        let input = Path.join(directory, "symbolizer.in")
        let output = Path.join(directory, "symbolizer.out")
        defer {
            for path in [input, output] { try? FileSystem.remove(path) }
        }
        // The program has no escape sequence for a quotation mark.
        let places = places.filter {
            !$0.path.utf8.contains(UInt8(ascii: "\"")) && !$0.path.contains(where: \.isNewline)
        }
        let lines = places.map { "\"\($0.path)\" \(Self.address(of: $0))\n" }
        do throws(SystemError) {
            for path in [input, output] { try? FileSystem.remove(path) }
            try FileSystem.write(Array(lines.joined().utf8), toNewFile: input)
            try FileSystem.write([], toNewFile: output)
            let isTooSlow = !run(program, input: input, output: output)
            let results = Self.results(in: try FileSystem.contents(ofFile: output))
            state.withLock { state in
                if isTooSlow { state.isTooSlow = true }
                for (place, result) in zip(places, results)
                where result.Address == Self.address(of: place) {
                    state.known[place] = (result.Symbol ?? []).compactMap(\.frame)
                }
            }
        } catch {}
    }

    /// Returns the address of a call.
    ///
    /// A return address follows the call. The byte before it belongs to the call's line.
    private static func address(of place: Place) -> String {
        "0x" + String(place.offset &- 1, radix: 16)
    }

    /// Runs the program; returns false if it was still running at the time limit.
    private func run(_ program: String, input: String, output: String) -> Bool {
        let end = Instant.now.advanced(bySeconds: timeLimit)
        let words: [String] = [program, "--output-style=JSON", "--no-demangle"]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { arguments.forEach { free($0) } }
        arguments.append(nil)
        let number = failure_artifacts_start_unnoticed(&arguments, input, output, CInt(timeLimit * 1000))
        guard number > 0 else { return true }
        // Nil if the program has ended already.
        if let process = ProcessEntry(of: number)?.identity {
            // At the time limit, a signal ends the program.
            while process.isAlive, Instant.now < end { sleep(microseconds: 5000) }
        }
        return Instant.now < end
    }

    // MARK: Output

    /// The used part of a line of the program's output.
    private struct Result: Decodable {
        struct Symbol: Decodable {
            var FunctionName: String?
            var FileName: String?
            var Line: Int?

            /// Nil for code that the compiler made.
            var frame: StatementRecord.Source? {
                guard let FileName, let Line, Line > 0 else { return nil }
                return StatementRecord.Source(
                    file: FileName, function: FunctionName.flatMap(Symbolizer.demangled), line: Line)
            }
        }

        var Address: String?
        var Symbol: [Symbol]?
    }

    private static func results(in output: [UInt8]) -> [Result] {
        let decoder = JSONDecoder()
        return output.split(separator: UInt8(ascii: "\n")).map {
            (try? decoder.decode(Result.self, from: Data($0))) ?? Result()
        }
    }

    /// Demangles a function's name; nil if it is mangled and the runtime library doesn't demangle it.
    private static func demangled(_ name: String) -> String? {
        guard let text = failure_artifacts_demangled(name) else {
            return name.isEmpty || name.hasPrefix("$") ? nil : name
        }
        defer { free(text) }
        return String(cString: text)
    }
}
