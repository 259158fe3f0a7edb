internal import CFailureArtifactsShared
internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Finds the lines of the package's own sources that ran statements.
struct StatementSources {
    private let images: LoadedImages
    private let frames: [UInt64: [StatementRecord.Source]]
    private var sources: PackageSources?

    /// Finds the source lines of all stacks by one call of the symbolizer.
    ///
    /// The directory is an existing one for the symbolizer's files.
    init(
        of stacks: [[UInt64]], in images: LoadedImages, failureFile: String?, by symbolizer: Symbolizer,
        scratch directory: String
    ) {
        self.images = images
        sources = PackageSources(ofFailureIn: failureFile, workingDirectory: images.workingDirectory)
        // Without a package, no line counts.
        let addresses =
            sources == nil ? [] : Set(stacks.flatMap { Self.reliablePart(of: $0, in: images) })
        frames =
            addresses.isEmpty ? [:] : symbolizer.frames(at: addresses, in: images, scratch: directory)
    }

    /// Returns the lines that were running when a statement ran, the innermost first; empty if they are unknown.
    ///
    /// If the package's C code ran it, the lines begin with the line of Swift that called the C code, if there is one.
    mutating func lines(of stack: [UInt64]) -> [StatementRecord.Source] {
        var lines: [StatementRecord.Source] = []
        for address in Self.reliablePart(of: stack, in: images) {
            for frame in frames[address] ?? [] {
                guard let file = sources?.relativePath(of: frame.file) else { continue }
                let line = StatementRecord.Source(file: file, function: frame.function, line: frame.line)
                if lines.last != line { lines.append(line) }
            }
        }
        let swift = lines.firstIndex { $0.file.hasSuffix(".swift") } ?? 0
        return Array(lines[swift...].prefix(StatementRecord.maximumCallers + 1))
    }

    /// Returns the addresses outside of the toolchain up to the first one in another library.
    ///
    /// Functions of other libraries may use the frame pointer's register for something else, so the addresses beyond
    /// them may be wrong.
    private static func reliablePart(of stack: [UInt64], in images: LoadedImages) -> [UInt64] {
        var result: [UInt64] = []
        for address in stack {
            guard let image = images.image(ofCallBefore: address) else { break }
            if !image.isOfToolchain { result.append(address) }
        }
        return result
    }
}

/// The source files of a package, without those of its dependencies.
package struct PackageSources {
    /// The absolute path of the directory with `Package.swift`.
    let root: String
    /// The results for the files that were asked for.
    private var known: [String: String?] = [:]

    /// Finds the package around a directory; nil if neither it nor a directory above it has a `Package.swift`.
    init?(around path: String) {
        guard let root = Self.root(around: path) else { return nil }
        self.root = root
    }

    /// Finds the package of a test, whose process has a working directory; nil if the test isn't in one.
    ///
    /// It is the package around the working directory, unless the failure is in another one that is no dependency.
    init?(ofFailureIn file: String?, workingDirectory directory: String) {
        var package = PackageSources(around: directory)
        if let file, package?.relativePath(of: file) == nil, !file.contains("/.build/"),
            let other = PackageSources(around: Path.directory(of: file))
        {
            package = other
        }
        guard let package else { return nil }
        self = package
    }

    /// Returns the root of a test's package, with the spelling of the failure's file; nil if the test isn't in one.
    package static func root(ofFailureIn file: String?, workingDirectory: String) -> String? {
        guard var package = Self(ofFailureIn: file, workingDirectory: workingDirectory) else {
            return nil
        }
        // The compiler may have been given a path with symbolic links.
        guard let file, let path = package.relativePath(of: file), file.hasSuffix("/" + path) else {
            return package.root
        }
        let root = file.dropLast(path.count + 1)
        return root.isEmpty ? "/" : String(root)
    }

    /// Returns the directory with `Package.swift` among an absolute path and those above it; nil without one.
    package static func root(around path: String) -> String? {
        guard path.hasPrefix("/") else { return nil }
        if FileSystem.regularFile(Path.join(path, "Package.swift")) != nil { return path }
        return path == "/" ? nil : root(around: Path.directory(of: path))
    }

    /// Returns the path of a file relative to the root; nil for a file that isn't one of the package's own sources.
    mutating func relativePath(of file: String) -> String? {
        if let known = known[file] { return known }
        // The compiler may have been given a path with symbolic links.
        let path = below(file) ?? FileSystem.realPath(of: file).flatMap(below)
        known[file] = .some(path)
        return path
    }

    private func below(_ file: String) -> String? {
        let prefix = root == "/" ? root : root + "/"
        guard file.hasPrefix(prefix), Self.root(around: Path.directory(of: file)) == root else {
            return nil
        }
        let path = String(file.dropFirst(prefix.count))
        // Generated code, copies of dependencies, and this product.
        let others = [".build/", "Sources/FailureArtifacts", "Sources/CFailureArtifacts"]
        return others.contains { path.hasPrefix($0) } ? nil : path
    }
}

/// The executable or a library in the memory of a process.
package struct LoadedImage: Codable, Equatable, Sendable {
    /// The absolute path of the file.
    package var path: String
    /// The difference between the addresses in memory and in the file.
    package var base: UInt64
    /// The address of the first byte of the code.
    package var start: UInt64
    /// The address after the last byte of the code.
    package var end: UInt64
    /// The time at which the file was changed last, in nanoseconds since 1970; nil if it isn't known.
    package var modified: Int64?

    /// True for the libraries of Swift's toolchain whose functions keep frame pointers.
    var isOfToolchain: Bool {
        let name = Path.name(of: path)
        return ["libswift", "libFoundation", "lib_Foundation", "libXCTest", "libTesting", "lib_Testing"]
            .contains { name.hasPrefix($0) }
    }

    /// True if the file still has the content that the process loaded.
    var isUnchanged: Bool { modified != nil && FileSystem.regularFile(path)?.modified == modified }
}

/// The images through which the stacks of a process can be followed.
///
/// The walk of a stack goes from frame pointer to frame pointer. Where a function doesn't keep one, what follows may be
/// wrong. The images listed here keep them; other libraries are left out.
package struct LoadedImages: Codable, Equatable, Sendable {
    /// The executable, the libraries beside it, and those of the toolchain.
    package var images: [LoadedImage]
    package var workingDirectory: String

    /// The images of this process.
    ///
    /// It takes the dynamic linker's lock, so a callback of SQLite must not use it.
    package static var current: LoadedImages {
        var all: [LoadedImage] = []
        withUnsafeMutablePointer(to: &all) { pointer in
            failure_artifacts_each_image(pointer) { context, image in
                guard let image, let path = image.pointee.path else { return }
                context?.assumingMemoryBound(to: [LoadedImage].self).pointee.append(
                    LoadedImage(
                        path: String(cString: path), base: image.pointee.base,
                        start: image.pointee.start, end: image.pointee.end))
            }
        }
        let products = Path.directory(of: all.first?.path ?? "") + "/"
        all.removeAll { !$0.path.hasPrefix(products) && !$0.isOfToolchain }
        for index in all.indices {
            all[index].modified = FileSystem.regularFile(all[index].path)?.modified
        }
        return LoadedImages(images: all, workingDirectory: Path.currentDirectory)
    }

    /// The images of this process as a line of JSON.
    ///
    /// They are listed again only after a library was loaded. May be used from any thread.
    package static var currentJSON: String {
        let count = failure_artifacts_loaded_images()
        if let (known, json) = latest.withLock({ $0 }), known == count { return json }
        let json = current.json
        latest.withLock { $0 = (count, json) }
        return json
    }

    private static let latest = Lock<(UInt64, String)?>(nil)

    /// The images as a line of JSON.
    package var json: String {
        // Strings and numbers can always be encoded.
        (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// Returns the image with the call that returns to an address.
    func image(ofCallBefore address: UInt64) -> LoadedImage? {
        images.first { $0.start < address && address <= $0.end }
    }
}

extension LoadedImages {
    /// Parses JSON; nil if it describes no images.
    init?(json: [UInt8]) {
        guard let images = try? JSONDecoder().decode(LoadedImages.self, from: Data(json)) else {
            return nil
        }
        self = images
    }
}
