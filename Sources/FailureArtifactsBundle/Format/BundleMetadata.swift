package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// What `metadata.json` holds: the JSON form of a bundle's description, described to the rest of the world
/// by `metadata.schema.json`.
///
/// Sizes are in bytes, durations in seconds, times in UTC by ISO 8601. What is unknown is absent.
package struct BundleMetadata: Codable, Equatable, Sendable {
    package var formatVersion: FormatVersion = .current
    /// The program that wrote the bundle; nil in a bundle of format 1.0.
    package var tool: Tool? = .current
    package var test: Test
    package var outcome: Outcome
    /// One failure, recognised across retries, shards and runs; see ``Fingerprint``.
    package var fingerprint: String
    /// In the order they happened; the stores are those of the first, or of the test's end where it passed.
    package var failures: [Failure]
    package var stores: [Store]
    /// Further copies, by the moments they were made; absent where there are none.
    package var snapshots: [Snapshot]?
    package var attachments: [Attachment]
    /// Entries that a bundle of format 1.0 left to other bundles; bundles of this version stand alone.
    package var sharedEntries: [SharedEntry]?
    package var environment: Environment
    package var capture: Capture
    /// The problems of the capture.
    package var warnings: [CaptureWarning]

    package init(
        test: Test, outcome: Outcome, fingerprint: String, failures: [Failure], stores: [Store],
        snapshots: [Snapshot]? = nil, attachments: [Attachment], environment: Environment,
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

        /// This program.
        package static let current = Tool(name: "failure-artifacts", version: ToolVersion.number)
    }

    /// The test.
    package struct Test: Codable, Hashable, Sendable {
        /// `XCTest` or `Swift Testing`.
        package var framework: String
        /// The class or suite, without the module.
        package var suite: String
        /// The method or function.
        package var name: String
        /// The arguments of a parameterised test, each as its description.
        package var arguments: [String]?
        /// Counts from 1 how often this test was started in its process.
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
    }

    /// How the test ended.
    package enum Outcome: String, Codable, Sendable, CaseIterable {
        case failed, crashed, timedOut, terminated
        /// Captured because somebody asked for it; no failure.
        case passed
    }

    /// One failure of the test.
    package struct Failure: Codable, Equatable, Sendable {
        /// What kind of failure it was.
        package enum Kind: String, Codable, Sendable {
            /// An assertion that did not hold.
            case assertion
            /// An error thrown out of the test, its set-up or its teardown.
            case error
            /// The test's process died, or was ended, in the middle of it.
            case termination
        }

        package var message: String
        /// The source file, as the framework gives it; absent where it does not know.
        package var file: String?
        /// Counts from 1.
        package var line: Int?
        package var kind: Kind
        package var at: String

        package init(message: String, file: String?, line: Int?, kind: Kind, at: Timestamp) {
            self.message = message
            self.file = file
            self.line = line
            self.kind = kind
            self.at = at.description
        }
    }

    /// The stores at another moment than the first failure.
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

    /// A file or a piece of data that the test attached.
    package struct Attachment: Codable, Equatable, Sendable {
        /// As the test named it.
        package var name: String
        /// The entry of the bundle that holds it; absent where it could not be kept.
        package var entry: String?
        package var bytes: UInt64

        package init(name: String, entry: String?, bytes: UInt64) {
            self.name = name
            self.entry = entry
            self.bytes = bytes
        }
    }

    /// When and under which limits the capture was made.
    package struct Capture: Codable, Equatable, Sendable {
        package var at: String
        /// How long the test was held up, in seconds.
        package var duration: Double
        /// Which limits cut something, by the name of the variable that sets them.
        package var limitsHit: [String]

        package init(at: Timestamp, duration: Double, limitsHit: [String]) {
            self.at = at.description
            self.duration = duration
            self.limitsHit = limitsHit
        }
    }
}

extension BundleMetadata {
    /// An entry that a bundle of format 1.0 lacks, because another bundle held the same content.
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

        /// The greatest number of shared entries in a bundle.
        static let maximumCount = 1000
    }

    /// Returns the reference to another bundle for an entry that the archive lacks, if there is one.
    package func sharedEntry(named name: String) -> SharedEntry? {
        sharedEntries?.first { $0.entry == name }
    }
}
