import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The lines that ran statements, found from addresses in this test bundle.
@Suite struct StatementSourcesTests {
    private static let thisFile =
        "Tests/FailureArtifactsBundleTests/SourceLines/StatementSourcesTests.swift"

    private func source(
        of stack: [UInt64], in images: LoadedImages = .current, failureFile: String? = nil,
        by symbolizer: Symbolizer = .shared
    ) throws -> StatementRecord.Source? {
        let scratch = try Scratch()
        let sources = StatementSources(
            of: [stack], in: images, failureFile: failureFile, by: symbolizer, scratch: scratch.path)
        let source = sources.lines(of: stack).first
        #expect(try FileSystem.contents(ofDirectory: scratch.path) == [])
        return source
    }

    /// Checks that a stack starts at the line with a comment.
    private func check(
        _ stack: [UInt64], startsAt comment: String, in function: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let expected = StatementRecord.Source(
            file: Self.thisFile, function: "StatementSourcesTests." + function,
            line: try line(of: comment, in: #filePath))
        let source = try source(of: stack)
        #expect(source == expected, sourceLocation: sourceLocation)
    }

    @inline(never) private func stackOfMethod() throws -> [UInt64] {
        try returnAddresses()  // in a method
    }

    @inline(never) private func stackOfGeneric<Value: Sendable>(_ value: Value) throws -> [UInt64] {
        let result = try returnAddresses()  // in a generic method
        _ = value
        return result
    }

    @inline(never) private func call(_ body: () throws -> [UInt64]) rethrows -> [UInt64] { try body() }

    @inline(never) private func stackOfClosure() throws -> [UInt64] {
        try call {
            try returnAddresses()  // in a closure
        }
    }

    @inline(never) private func stackOfAsyncMethod() async throws -> [UInt64] {
        await Task.yield()
        return try returnAddresses()  // in an async method
    }

    @Test func aMethodIsFound() throws {
        try check(stackOfMethod(), startsAt: "in a method", in: "stackOfMethod()")
    }

    @Test func aGenericMethodIsFound() throws {
        try check(stackOfGeneric("a"), startsAt: "in a generic method", in: "stackOfGeneric<A>(_:)")
    }

    @Test func aClosureIsFound() throws {
        try check(
            stackOfClosure(), startsAt: "in a closure", in: "stackOfClosure()",
            closure: "closure #1 in ")
    }

    @Test func anAsyncMethodIsFound() async throws {
        try check(
            await stackOfAsyncMethod(), startsAt: "in an async method", in: "stackOfAsyncMethod()")
    }

    /// Checks that a stack starts at the line with a comment, in a closure of a function.
    private func check(
        _ stack: [UInt64], startsAt comment: String, in function: String, closure: String
    ) throws {
        let source = try source(of: stack)
        #expect(source?.line == (try line(of: comment, in: #filePath)))
        #expect(source?.function == closure + "StatementSourcesTests." + function)
    }

    @Test func callersFollow() throws {
        let stack = try stackOfClosure()  // calls the closure's method
        let scratch = try Scratch()
        let sources = StatementSources(
            of: [stack], in: .current, failureFile: nil, by: .shared, scratch: scratch.path)
        let lines = sources.lines(of: stack)
        #expect(lines.count <= StatementRecord.maximumCallers + 1)
        let functions = lines.compactMap(\.function).map {
            $0.replacing("StatementSourcesTests.", with: "")
        }
        #expect(functions[0] == "closure #1 in stackOfClosure()")
        #expect(functions.contains("call(_:)") && functions.contains("stackOfClosure()"))
        let caller = lines.first { $0.function?.hasSuffix("callersFollow()") == true }
        #expect(caller?.line == (try line(of: "calls the closure's method", in: #filePath)))
    }

    // MARK: Reliability

    private func address(of function: String) throws -> UInt64 {
        let address = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), function))
        return UInt64(UInt(bitPattern: address)) + 1
    }

    @Test func framesOfTheToolchainAreSkipped() throws {
        let stack = try [address(of: "swift_retain")] + stackOfMethod()
        #expect(try source(of: stack)?.function == "StatementSourcesTests.stackOfMethod()")
    }

    @Test func addressesBeyondOtherLibrariesDoNotCount() throws {
        let stack = try [address(of: "qsort")] + stackOfMethod()
        #expect(try source(of: stack) == nil)
        let reordered = try stackOfMethod() + [address(of: "qsort")]
        #expect(try source(of: reordered) != nil)
    }

    @Test func aRebuiltFileHasNoLines() throws {
        let current = LoadedImages.current
        for modified: Int64? in [0, nil] {
            var images = current.images
            images[0].modified = modified
            let changed = LoadedImages(images: images, workingDirectory: current.workingDirectory)
            #expect(try source(of: stackOfMethod(), in: changed) == nil)
        }
    }

    @Test func anEmptyStackHasNoLine() throws {
        #expect(try source(of: []) == nil)
        #expect(try source(of: [0, .max]) == nil)
    }

    // MARK: Packages

    @Test func theFailureTellsThePackageIfTheWorkingDirectoryDoesNot() throws {
        let images = LoadedImages(images: LoadedImages.current.images, workingDirectory: "/")
        #expect(try source(of: stackOfMethod(), in: images) == nil)
        let found = try source(of: stackOfMethod(), in: images, failureFile: #filePath)
        #expect(found?.file == Self.thisFile)
    }

    @Test func onlyThePackagesOwnSourcesCount() throws {
        let scratch = try Scratch()
        let root = scratch.path + "/app"
        for file in [
            "app/Package.swift", "app/Sources/A/a.swift", "app/.build/checkouts/B/b.swift",
            "app/Packages/C/Package.swift", "app/Packages/C/Sources/c.swift", "app-2/d.swift",
        ] {
            try scratch.write("", to: file)
        }
        #expect(symlink(root, scratch.path + "/link") == 0)
        var sources = try #require(PackageSources(around: root + "/Sources/A"))
        #expect(sources.root == root)
        #expect(sources.relativePath(of: root + "/Sources/A/a.swift") == "Sources/A/a.swift")
        #expect(
            sources.relativePath(of: scratch.path + "/link/Sources/A/a.swift") == "Sources/A/a.swift")
        for file in [
            root + "/.build/checkouts/B/b.swift", root + "/Packages/C/Sources/c.swift",
            scratch.path + "/app-2/d.swift", root + "/Sources/FailureArtifactsCapture/e.swift",
            root + "/Sources/CFailureArtifactsCapture/f.c", "/<compiler-generated>", "Sources/A/a.swift",
            "",
        ] {
            #expect(sources.relativePath(of: file) == nil, "\(file)")
        }
        #expect(PackageSources(around: scratch.path) == nil)
        #expect(PackageSources(around: "Sources") == nil)
    }

    @Test func theFailureMayBeInAnotherPackageThanTheWorkingDirectory() throws {
        let scratch = try Scratch()
        let root = scratch.path + "/app"
        for file in [
            "app/Package.swift", "app/Tests/a.swift", "app/Nested/Package.swift",
            "app/Nested/Tests/b.swift",
            "app/.build/checkouts/C/Package.swift", "app/.build/checkouts/C/c.swift", "d.swift",
        ] {
            try scratch.write("", to: file)
        }
        func package(_ file: String?) -> String? {
            PackageSources(ofFailureIn: file, workingDirectory: root + "/Tests")?.root
        }
        #expect(package(root + "/Nested/Tests/b.swift") == root + "/Nested")
        for file in [
            root + "/Tests/a.swift", root + "/.build/checkouts/C/c.swift", scratch.path + "/d.swift",
            "Tests/a.swift", nil,
        ] {
            #expect(package(file) == root, "\(file ?? "nil")")
        }
    }

    // MARK: Bundles

    /// Packs a bundle with a statement, and returns the statement in the bundle.
    private func packed(
        _ images: LoadedImages?, by symbolizer: Symbolizer = .shared
    ) throws -> StatementRecord {
        let place = try Place()
        let staging = try StagingRoom(
            in: place.directory, within: DirectoryLimits(storeBytes: 1, totalBytes: 1 << 20, bundles: 1)
        ).staging
        var record = StatementRecord(
            at: "2026-11-21T07:08:09.123456Z", changes: 1, connection: 1, order: 2, phase: .test,
            sql: "INSERT", thread: "7f")
        record.stack = try stackOfMethod()
        var other = record
        other.order = 1
        other.stack = nil
        let entry = "statements/a.jsonl"
        try FileSystem.write(
            StatementRecord.lines(of: [other, record]), toNewFile: staging.path(ofEntry: entry))
        try FileSystem.write([1], toNewFile: staging.path(ofEntry: "stores/a.sqlite"))
        if let images {
            try staging.record(images: images.json)
            try staging.record(images: LoadedImages(images: [], workingDirectory: "").json)
            #expect(staging.images == images)
        }
        var metadata = place.metadata(["stores/a.sqlite"])
        metadata.stores[0].statements = .init(entry: entry, count: 2)
        let (file, _) = try BundlePacker.pack(metadata, from: staging, symbolizer: symbolizer)
        let reader = try BundleReader(BundleLocation(path: file), scratchDirectory: place.root)
        #expect(
            reader.archive.entries.map(\.name).filter { $0.contains("images") || $0.contains("symb") }
                == [])
        let statements = try reader.statements(of: metadata.stores[0])
        #expect(statements.first == other && statements.count == 2)
        var result = try #require(statements.last)
        #expect(result.stack == nil)
        let lines = (result.source, result.callers)
        (result.source, result.callers, record.stack) = (nil, nil, nil)
        #expect(result == record)
        (result.source, result.callers) = lines
        return result
    }

    @Test func aBundleHasLinesInsteadOfStacks() throws {
        let record = try packed(.current)
        let source = record.source
        #expect(source?.file == Self.thisFile && source?.function?.hasSuffix("stackOfMethod()") == true)
        #expect(record.callers?.isEmpty == false)
    }

    @Test func withoutASymbolizerABundleHasNeither() throws {
        #expect(try packed(.current, by: Symbolizer(program: nil, timeLimit: 10)).source == nil)
    }

    @Test func withoutTheImagesABundleHasNeither() throws {
        #expect(try packed(nil).source == nil)
    }

    // MARK: Release builds

    /// In a release build, the compiler inlines functions, also across files.
    @Test func inlinedFramesAreFound() throws {
        let scratch = try Scratch()
        try scratch.write("", to: "Package.swift")
        let dependency = try scratch.write(
            """
            @_silgen_name("backtrace")
            func backtrace(_ buffer: UnsafeMutablePointer<UInt>, _ size: Int32) -> Int32

            @inline(__always) func execute(_ buffer: UnsafeMutablePointer<UInt>) -> Int32 {
                backtrace(buffer, 32)
            }
            """, to: ".build/checkouts/Database/Database.swift")
        let program = try scratch.write(
            """
            @inline(__always) func insert(_ buffer: UnsafeMutablePointer<UInt>) -> Int32 {
                let count = execute(buffer)  // in an inlined function
                return count
            }

            @inline(never) func split(_ buffer: UnsafeMutablePointer<UInt>) -> Int32 {
                insert(buffer) + Int32(CommandLine.arguments.count) - 1
            }

            let buffer = UnsafeMutablePointer<UInt>.allocate(capacity: 32)
            for index in 0..<Int(split(buffer)) { print(buffer[index]) }
            """, to: "Sources/main.swift")
        let executable = scratch.path + "/program"
        let compiled = try runProgram([
            "swiftc", "-O", "-g", "-wmo", program, dependency, "-o", executable, "-Xclang-linker",
            "-no-pie",
        ])
        try #require(compiled.status == 0, "\(compiled.output)")
        let stack = try run(executable).split(separator: "\n").compactMap { UInt64($0) }
        let images = LoadedImages(
            images: [
                LoadedImage(
                    path: executable, base: 0, start: 0, end: 1 << 40,
                    modified: FileSystem.regularFile(executable)?.modified)
            ], workingDirectory: scratch.path)
        let expected = StatementRecord.Source(
            file: "Sources/main.swift", function: "insert(_:)",
            line: try line(of: "in an inlined function", in: program))
        #expect(try source(of: stack, in: images) == expected)
    }
}
