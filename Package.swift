// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // An eighth of a clean debug build would be an index of the standard library, which whoever uses it makes as well.
    .unsafeFlags(["-index-ignore-system-modules"], .when(configuration: .debug)),
]

// Callbacks that SQLite calls for each statement of the application: optimised also in its debug build, which is what
// `swift test` makes. Since 6.2 a dependency may have such flags.
let optimized: [CSetting] = [.unsafeFlags(["-O2"], .when(configuration: .debug))]

// The last target holds the public types. Listed, its changes are seen by incremental builds of those who import the
// first, which re-exports it.
func product(_ name: String, _ others: String...) -> Product {
    Product.library(name: name, targets: [name] + others + ["FailureArtifactsCapture"])
}

// Arrows go one way: adapters → Capture → Bundle → SQLite, Zip → System, and the tool's Commands → Report, TestRun →
// Analysis → Reading → Bundle. Only the adapters import a test framework, and the command-line tool links none.
let package = Package(
    name: "failure-artifacts",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        product("FailureArtifacts"),
        product("FailureArtifactsTesting"),
        product("FailureArtifactsTestKit"),
        // Apple platforms; elsewhere it is empty.
        product("FailureArtifactsCoreData", "FailureArtifactsTestKit"),
        .executable(name: "failure-artifacts", targets: ["FailureArtifactsTool"]),
    ],
    targets: [
        // What the system brings.
        .systemLibrary(
            name: "CFailureArtifactsSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
        .systemLibrary(
            name: "CFailureArtifactsZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),

        // Parts that know nothing of tests.
        .target(name: "FailureArtifactsSystem", swiftSettings: settings),
        .target(
            name: "FailureArtifactsZip",
            dependencies: ["FailureArtifactsSystem", "CFailureArtifactsZlib"], swiftSettings: settings),
        .target(
            name: "CFailureArtifactsDiscovery", dependencies: ["CFailureArtifactsSQLite"],
            cSettings: optimized),
        .target(name: "CFailureArtifactsRedaction", dependencies: ["CFailureArtifactsSQLite"]),
        .target(
            name: "CFailureArtifactsJSON",
            dependencies: ["CFailureArtifactsSQLite", "CFailureArtifactsDiscovery"]),
        .target(
            name: "FailureArtifactsSQLite",
            dependencies: [
                "FailureArtifactsSystem", "CFailureArtifactsSQLite", "CFailureArtifactsDiscovery",
                "CFailureArtifactsJSON", "CFailureArtifactsRedaction",
            ],
            swiftSettings: settings),

        // What a failure leaves, and when.
        .target(name: "CFailureArtifactsJournal"),
        .target(
            name: "FailureArtifactsBundle",
            dependencies: [
                "FailureArtifactsSystem", "FailureArtifactsSQLite", "FailureArtifactsZip",
                "CFailureArtifactsJournal",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifactsCapture",
            dependencies: [
                "FailureArtifactsBundle", "FailureArtifactsSQLite", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),

        // What is read of it. A target of its own, so that who links the collector does not build it.
        .target(name: "CFailureArtifactsComparison", dependencies: ["CFailureArtifactsSQLite"]),
        .target(
            name: "FailureArtifactsReading",
            dependencies: [
                "FailureArtifactsBundle", "FailureArtifactsSQLite", "FailureArtifactsZip",
                "FailureArtifactsSystem", "CFailureArtifactsSQLite", "CFailureArtifactsComparison",
            ],
            swiftSettings: settings),

        // Adapters to test frameworks.
        .target(name: "CFailureArtifactsInstall"),
        .target(
            name: "FailureArtifacts",
            dependencies: ["FailureArtifactsCapture", "CFailureArtifactsInstall"],
            swiftSettings: settings),

        .target(name: "CFailureArtifactsTestingInstall"),
        .target(
            name: "FailureArtifactsTesting",
            dependencies: [
                "FailureArtifactsCapture", "FailureArtifactsSystem", "CFailureArtifactsTestingInstall",
            ],
            swiftSettings: settings),

        // Stores for tests; imports XCTest for its base classes. Depends on the adapter, so that linking it installs it.
        .target(
            name: "FailureArtifactsTestKit",
            dependencies: [
                "FailureArtifacts", "FailureArtifactsCapture", "FailureArtifactsReading",
                "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsSystem", "CFailureArtifactsSQLite",
            ],
            swiftSettings: settings),

        // Stores of Core Data, on Apple platforms.
        .target(name: "CFailureArtifactsCoreDataInstall"),
        .target(
            name: "FailureArtifactsCoreData",
            dependencies: [
                "FailureArtifactsTestKit", "FailureArtifactsCapture", "FailureArtifactsSystem",
                "CFailureArtifactsCoreDataInstall",
            ],
            swiftSettings: settings),

        // The command-line tool: facts from bundles, pages and results about them, runs of tests, commands.
        .target(name: "CFailureArtifactsProcesses"),
        .target(
            name: "FailureArtifactsAnalysis",
            dependencies: [
                "FailureArtifactsReading", "FailureArtifactsBundle", "FailureArtifactsSQLite",
                "FailureArtifactsZip", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifactsReport",
            dependencies: [
                "FailureArtifactsAnalysis", "FailureArtifactsReading", "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsZip", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifactsTestRun",
            dependencies: [
                "FailureArtifactsAnalysis", "FailureArtifactsReading", "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsSystem", "CFailureArtifactsProcesses",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifactsCommands",
            dependencies: [
                "FailureArtifactsReport", "FailureArtifactsTestRun", "FailureArtifactsAnalysis",
                "FailureArtifactsReading", "FailureArtifactsBundle", "FailureArtifactsSQLite",
                "FailureArtifactsZip", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "FailureArtifactsTool",
            dependencies: ["FailureArtifactsCommands", "FailureArtifactsSystem"],
            swiftSettings: settings),

        // Tests.
        .target(
            name: "FailureArtifactsTestPrograms", path: "Tests/FailureArtifactsTestPrograms",
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsSystemTests",
            dependencies: ["FailureArtifactsSystem", "FailureArtifactsTestPrograms"],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsZipTests",
            dependencies: [
                "FailureArtifactsTestPrograms", "FailureArtifactsZip", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsBundleTests",
            dependencies: [
                "FailureArtifactsReading", "FailureArtifactsBundle", "FailureArtifactsSystem",
                "FailureArtifactsTestPrograms", "FailureArtifactsZip",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsCaptureTests",
            dependencies: [
                "FailureArtifactsCapture", "FailureArtifactsReading", "FailureArtifactsBundle",
                "FailureArtifactsZip", "FailureArtifactsSystem", "CFailureArtifactsSQLite",
            ],
            swiftSettings: settings),
        .target(name: "CFailureArtifactsTestInstall", path: "Tests/CFailureArtifactsTestInstall"),
        .testTarget(
            name: "FailureArtifactsSQLiteTests",
            // What a recorder or a redaction writes is read again.
            dependencies: [
                "FailureArtifactsReading", "FailureArtifactsSQLite", "FailureArtifactsSystem",
                "CFailureArtifactsSQLite", "CFailureArtifactsDiscovery", "CFailureArtifactsTestInstall",
                "FailureArtifactsTestPrograms",
            ],
            exclude: ["History/compare.py", "History/wal.py", "History/workload.py"],
            swiftSettings: settings),
        // Bundles and stores for the tests of the tool.
        .target(
            name: "FailureArtifactsTestFixtures",
            dependencies: [
                "FailureArtifactsAnalysis", "FailureArtifactsBundle", "FailureArtifactsSQLite",
                "FailureArtifactsZip", "FailureArtifactsSystem", "FailureArtifactsTestPrograms",
            ],
            path: "Tests/FailureArtifactsTestFixtures", exclude: ["store.py"],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsAnalysisTests",
            dependencies: [
                "FailureArtifactsAnalysis", "FailureArtifactsReading", "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsSystem", "FailureArtifactsTestFixtures",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsReportTests",
            dependencies: [
                "FailureArtifactsReport", "FailureArtifactsAnalysis", "FailureArtifactsReading",
                "FailureArtifactsBundle", "FailureArtifactsSQLite", "FailureArtifactsSystem",
                "FailureArtifactsTestFixtures",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsTestRunTests",
            dependencies: [
                "FailureArtifactsTestRun", "FailureArtifactsAnalysis", "FailureArtifactsSystem",
                "FailureArtifactsTestFixtures",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsCommandsTests",
            // The tool itself is run by these tests.
            dependencies: [
                "FailureArtifactsCommands", "FailureArtifactsTool", "FailureArtifactsReport",
                "FailureArtifactsTestRun", "FailureArtifactsAnalysis", "FailureArtifactsReading",
                "FailureArtifactsBundle", "FailureArtifactsSQLite", "FailureArtifactsZip",
                "FailureArtifactsSystem", "FailureArtifactsTestFixtures", "FailureArtifactsTestPrograms",
            ],
            swiftSettings: settings),
        // The targets that `Scripts/fuzz` gives to libFuzzer, with a fixed number of inputs for each.
        .testTarget(
            name: "FailureArtifactsFuzzTests",
            dependencies: [
                "FailureArtifactsCommands", "FailureArtifactsAnalysis", "FailureArtifactsReading",
                "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsZip", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),
    ]
)
