package import FailureArtifactsSQLite
package import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The number of a test in its process, from 1.
///
/// It also identifies the owner of a connection.
package typealias TestID = UInt64

/// The content of `metadata.json`; `metadata.schema.json` is its public schema.
///
/// Sizes are in bytes, durations in seconds, and times in UTC (ISO 8601). Unknown values are absent.
package struct BundleMetadata: Codable, Equatable, Sendable {
    package var formatVersion: FormatVersion = .current
    /// The program that wrote the bundle; nil in a bundle of format 1.0.
    package var tool: Tool? = .current
    package var test: Test
    package var outcome: Outcome
    /// The fingerprint of the failure, for recognising it across retries, shards and runs; see ``Fingerprint``.
    package var fingerprint: String
    /// The earlier occurrences of the failure; absent if none is known.
    package var seenBefore: SeenBefore?
    /// The failures, in order of time.
    ///
    /// ``stores`` has the state at the first failure, or at the end of a test that passed.
    package var failures: [Failure]
    package var stores: [Store]
    /// The tests that ran the recorded statements, by number; absent if unknown.
    package var tests: [NumberedTest]?
    /// Further copies, one snapshot for each point in time; absent if there are none.
    package var snapshots: [Snapshot]?
    /// The directory of the test's `Package.swift`, absolute; absent if the test isn't in a package.
    package var packageRoot: String?
    /// The stores that were open and not captured, because they belong to a framework; absent if there are none.
    package var otherStores: [OtherStore]?
    package var attachments: [Attachment]
    /// Entries that a bundle of format 1.0 left to other bundles.
    ///
    /// Bundles of this version stand alone.
    package var sharedEntries: [SharedEntry]?
    package var environment: Environment
    package var capture: Capture
    /// The problems of the capture.
    package var warnings: [CaptureWarning]

    package init(
        test: Test, outcome: Outcome, fingerprint: String, failures: [Failure], stores: [Store],
        snapshots: [Snapshot]? = nil,
        attachments: [Attachment], environment: Environment,
        capture: Capture, warnings: [CaptureWarning]
    ) {
        self.test = test
        self.outcome = outcome
        self.fingerprint = fingerprint
        self.failures = failures
        self.stores = stores
        self.snapshots = snapshots
        self.attachments = attachments
        self.environment = environment
        self.capture = capture
        self.warnings = warnings
    }

    /// The program that wrote a bundle.
    package struct Tool: Codable, Equatable, Sendable {
        package var name: String
        package var version: String

        package static let current = Tool(name: "failure-artifacts", version: ToolVersion.number)
    }

    package struct Test: Codable, Hashable, Sendable {
        /// `XCTest` or `Swift Testing`.
        package var framework: String
        /// The class or suite, without the module.
        package var suite: String
        /// The method or function.
        package var name: String
        /// The descriptions of a parameterized test's arguments.
        package var arguments: [String]?
        /// The number of this start of the test in its process, counted from 1.
        package var attempt: Int

        package init(
            framework: String, suite: String, name: String, arguments: [String]? = nil, attempt: Int = 1
        ) {
            self.framework = framework
            self.suite = suite
            self.name = name
            self.arguments = arguments
            self.attempt = attempt
        }

        package var title: String { Self.title(suite: suite, name: name, arguments: arguments) }

        /// Returns the title of a test, with the arguments of a parameterized one.
        package static func title(suite: String, name: String, arguments: [String]?) -> String {
            let name = suite.isEmpty ? name : suite + "." + name
            guard let arguments, !arguments.isEmpty else { return name }
            return name + "(" + arguments.joined(separator: ", ") + ")"
        }
    }

    /// A test of the process, as ``StatementRecord/test`` names it.
    package struct NumberedTest: Codable, Hashable, Sendable {
        package var id: TestID
        package var framework: String
        package var suite: String
        package var name: String
        package var arguments: [String]?

        package init(id: TestID, _ test: Test) {
            self.id = id
            framework = test.framework
            suite = test.suite
            name = test.name
            arguments = test.arguments
        }
    }

    /// The way the test ended.
    package enum Outcome: String, Codable, Sendable, CaseIterable {
        case failed, crashed, timedOut, terminated
        /// The test passed; its stores were captured on request.
        case passed
    }

    package struct Failure: Codable, Equatable, Sendable {
        package enum Kind: String, Codable, Sendable {
            /// An assertion failed.
            case assertion
            /// The test, its set-up or its teardown threw an error.
            case error
            /// The test's process died, or was ended, during the test.
            case termination
        }

        package var message: String
        /// The source file, as reported by the framework; absent if unknown.
        package var file: String?
        /// The line in that file, counted from 1.
        package var line: Int?
        package var kind: Kind
        package var at: String
        /// The tests that may have crashed the process; absent if the bundle's test was the only one.
        package var suspects: Suspects?

        package init(message: String, file: String?, line: Int?, kind: Kind, at: Timestamp) {
            self.message = message
            self.file = file
            self.line = line
            self.kind = kind
            self.at = at.description
        }
    }

    /// The tests that may have crashed a process in which several were running.
    package struct Suspects: Codable, Equatable, Sendable {
        /// The maximum number of tests that are named.
        static let namedTests = 3

        /// The number of tests: all that were running, or those that the crashed thread was running.
        package var count: Int
        /// The suites and names of the first tests, such as `LedgerTests.testMarch`.
        package var tests: [String]
        /// True if the bundle's test is one of them.
        package var includesTest: Bool

        package init(count: Int, tests: [String], includesTest: Bool) {
            self.count = count
            self.tests = tests
            self.includesTest = includesTest
        }
    }

    /// The stores at a point in time other than the first failure.
    package struct Snapshot: Codable, Equatable, Sendable {
        /// The folder under `snapshots/`, such as `failure-2`.
        package var label: String
        package var at: String
        package var stores: [Store]

        package init(label: String, at: Timestamp, stores: [Store]) {
            self.label = label
            self.at = at.description
            self.stores = stores
        }
    }

    /// A store that was open in the test's process and is only named.
    package struct OtherStore: Codable, Hashable, Sendable {
        /// The store's file, absolute.
        package var path: String
        /// The reason why it isn't captured, as a full sentence.
        package var reason: String

        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    /// Adds stores that are only named, without duplicates.
    package mutating func add(_ others: [OtherStore]) {
        let all = Set((otherStores ?? []) + others).sorted { $0.path < $1.path }
        otherStores = all.isEmpty ? nil : all
    }

    /// A file or a piece of data that the test attached.
    package struct Attachment: Codable, Equatable, Sendable {
        /// The name that the test gave it.
        package var name: String
        /// The entry with its content; absent if it could not be kept.
        package var entry: String?
        package var bytes: UInt64

        package init(name: String, entry: String?, bytes: UInt64) {
            self.name = name
            self.entry = entry
            self.bytes = bytes
        }
    }

    /// The time and the limits of the capture.
    package struct Capture: Codable, Equatable, Sendable {
        package var at: String
        /// The time for which the capture delayed the test, in seconds.
        package var duration: Double
        /// The limits that cut something, each by the name of its environment variable.
        package var limitsHit: [String]

        package init(at: Timestamp, duration: Double, limitsHit: [String]) {
            self.at = at.description
            self.duration = duration
            self.limitsHit = limitsHit
        }
    }
}

extension BundleMetadata {
    /// An entry that a bundle of format 1.0 lacks because another bundle has the same content.
    package struct SharedEntry: Codable, Equatable, Sendable {
        /// The entry that the bundle would have.
        package var entry: String
        /// The other bundle's file name.
        package var bundle: String
        /// The other bundle's entry.
        package var bundleEntry: String
        /// The size of the content, in bytes.
        package var bytes: UInt64
        /// The CRC-32 of the content, in eight hexadecimal digits.
        package var crc32: String

        package init(
            entry: String, bundle: String, bundleEntry: String, bytes: UInt64, crc32: String
        ) {
            self.entry = entry
            self.bundle = bundle
            self.bundleEntry = bundleEntry
            self.bytes = bytes
            self.crc32 = crc32
        }
    }
}

extension BundleMetadata {
    /// Encodes the content of `metadata.json`: UTF-8, sorted keys, indented.
    package func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // JSONEncoder fails only on numbers that JSON lacks; the durations are finite.
        guard let data = try? encoder.encode(self) else { return Array("{}".utf8) }
        return Array(data) + [UInt8(ascii: "\n")]
    }
}

extension BundleMetadata {
    package static let entryName = "metadata.json"
    /// The maximum size of that entry, in bytes.
    package static let sizeLimit = 16 << 20

    /// Decodes metadata that this product wrote; nil if it is invalid or of a newer format.
    package init?(own json: [UInt8]) {
        guard let metadata = try? JSONDecoder().decode(BundleMetadata.self, from: Data(json)),
            metadata.formatVersion.isReadable
        else { return nil }
        self = metadata
    }
}

extension BundleMetadata {
    /// Shortens all paths below the home directory.
    package mutating func shortenHomePaths(_ paths: HomePaths) {
        test.arguments = test.arguments?.map(paths.shortened)
        for index in failures.indices {
            failures[index].message = paths.shortened(failures[index].message)
            failures[index].file = failures[index].file.map(paths.shortened)
        }
        packageRoot = packageRoot.map(paths.shortened)
        stores = stores.map { $0.shorteningHomePaths(paths) }
        snapshots = snapshots?.map { snapshot in
            var snapshot = snapshot
            snapshot.stores = snapshot.stores.map { $0.shorteningHomePaths(paths) }
            return snapshot
        }
        otherStores = otherStores?.map { store in
            BundleMetadata.OtherStore(path: paths.shortened(store.path), reason: store.reason)
        }
        for index in attachments.indices {
            attachments[index].name = paths.shortened(attachments[index].name)
        }
        warnings = warnings.map { $0.mapTexts(paths.shortened) }
    }
}

extension BundleMetadata.Store {
    fileprivate func shorteningHomePaths(_ paths: HomePaths) -> BundleMetadata.Store {
        var result = self
        result.originalPath = originalPath.map(paths.shortened)
        result.capture.reason = capture.reason.map(paths.shortened)
        result.statements?.reason = statements?.reason.map(paths.shortened)
        result.history?.reason = history?.reason.map(paths.shortened)
        return result
    }
}
