// swift-tools-version: 6.3

import PackageDescription

// `Scripts/test` sets this variable: warnings are errors, and the compiler takes each module as a whole, because then a
// clean build takes a third less time. The builds of others are incremental within a module.
let isStrict = Context.environment["FAILURE_ARTIFACTS_STRICT"] != nil

var settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // Indexing system modules would take an eighth of a clean debug build, and the user's own build indexes them too.
    .unsafeFlags(["-index-ignore-system-modules"], .when(configuration: .debug)),
]
if isStrict {
    settings.append(.treatAllWarnings(as: .error))
    settings.append(
        .unsafeFlags(["-whole-module-optimization", "-num-threads", "2"], .when(configuration: .debug)))
}

// SQLite calls these callbacks for each statement of the application. They are optimized in debug builds too, which
// `swift test` makes. A dependency may have such flags.
let strict: [CSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []
let optimized = strict + [.unsafeFlags(["-O2"], .when(configuration: .debug))]

// `Scripts/release` names the commit that a release is made from, for `failure-artifacts --version`.
let commit: [CSetting]? = Context.environment["FAILURE_ARTIFACTS_COMMIT"].map { commit in
    [.define("FAILURE_ARTIFACTS_COMMIT", to: "\"\(commit)\"")]
}

// Both adapters are in each library. The last target contains the public types, and the adapters re-export them. Listing
// it makes incremental builds of the importing module notice its changes.
func product(_ name: String, _ others: String...) -> Product {
    Product.library(
        name: name,
        targets: others + ["FailureArtifacts", "FailureArtifactsTesting", "FailureArtifactsCapture"])
}

// On Apple platforms the SDK has both libraries. With `pkgConfig`, SwiftPM would link Homebrew's copy of SQLite if there
// is one. It would then be the second copy in the process, besides the one that Core Data uses, and two copies drop each
// other's file locks.
func systemLibrary(_ name: String, pkgConfig: String, apt: String) -> Target {
    #if os(macOS)
    .systemLibrary(name: name)
    #else
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
    #endif
}

// Arrows go one way: adapters → Capture → Bundle → SQLite, Zip → System, and the tool's Commands → Report, TestRun →
// Analysis → Reading → Bundle. Only the adapters import a test framework, and the command-line tool links none.
let package = Package(
    name: "failure-artifacts",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        product("FailureArtifacts"),
        // Another name of the same library, for packages whose tests have the trait.
        product("FailureArtifactsTesting"),
        product("FailureArtifactsTestKit", "FailureArtifactsTestKit"),
        // For Apple platforms; elsewhere it only installs the adapters.
        product("FailureArtifactsCoreData", "FailureArtifactsCoreData", "FailureArtifactsTestKit"),
        .executable(name: "failure-artifacts", targets: ["FailureArtifactsCommands"]),
    ],
    targets: [
        // System libraries.
        systemLibrary("CFailureArtifactsSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
        systemLibrary("CFailureArtifactsZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),

        // Modules that are independent of tests.
        .target(name: "FailureArtifactsSystem", swiftSettings: settings),
        .target(
            name: "FailureArtifactsZip",
            dependencies: ["FailureArtifactsSystem", "CFailureArtifactsZlib"], swiftSettings: settings),
        // SQL functions, and the flight recorder, whose file the test process writes and other processes read.
        .target(
            name: "CFailureArtifactsShared", dependencies: ["CFailureArtifactsSQLite"],
            cSettings: optimized),
        .target(
            name: "FailureArtifactsSQLite",
            dependencies: [
                "FailureArtifactsSystem", "CFailureArtifactsSQLite", "CFailureArtifactsShared",
            ],
            swiftSettings: settings),

        // Bundle format and capture.
        .target(
            name: "FailureArtifactsBundle",
            dependencies: [
                "FailureArtifactsSystem", "FailureArtifactsSQLite", "FailureArtifactsZip",
                "CFailureArtifactsShared",
            ],
            swiftSettings: settings),

        // What only a test process has: the hooks with their installers, and the session that captures its stores.
        .target(
            name: "CFailureArtifactsCapture",
            dependencies: ["CFailureArtifactsSQLite", "CFailureArtifactsShared"], cSettings: optimized),
        .target(
            name: "FailureArtifactsCapture",
            dependencies: [
                "FailureArtifactsBundle", "FailureArtifactsSQLite", "FailureArtifactsSystem",
                "CFailureArtifactsSQLite", "CFailureArtifactsShared", "CFailureArtifactsCapture",
            ],
            swiftSettings: settings),

        // Reading bundles. Separate targets, so that packages that link the collector don't build them.
        .target(
            name: "FailureArtifactsReading",
            dependencies: [
                "FailureArtifactsBundle", "FailureArtifactsSQLite", "FailureArtifactsZip",
                "FailureArtifactsSystem", "CFailureArtifactsShared", "CFailureArtifactsSQLite",
                "CFailureArtifactsZlib",
            ],
            swiftSettings: settings),

        // Adapters to test frameworks.
        .target(
            name: "FailureArtifactsTesting",
            dependencies: [
                "FailureArtifactsCapture", "FailureArtifactsBundle", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifacts",
            dependencies: [
                "FailureArtifactsTesting", "FailureArtifactsCapture", "FailureArtifactsBundle",
            ],
            swiftSettings: settings),

        // Stores for tests. It imports XCTest for its base classes, and depends on the adapter to install the observer.
        .target(
            name: "FailureArtifactsTestKit",
            dependencies: [
                "FailureArtifacts", "FailureArtifactsCapture", "FailureArtifactsReading",
                "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsSystem", "CFailureArtifactsSQLite",
            ],
            swiftSettings: settings),

        // Stores of Core Data, on Apple platforms.
        .target(
            name: "FailureArtifactsCoreData",
            dependencies: [
                "FailureArtifactsTestKit", "FailureArtifactsCapture", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),

        // The command-line tool: facts from bundles, pages and results about them, runs of tests, commands.
        .target(name: "CFailureArtifactsProcesses", cSettings: strict + (commit ?? [])),
        .target(
            name: "FailureArtifactsAnalysis",
            dependencies: [
                "FailureArtifactsReading", "FailureArtifactsBundle", "FailureArtifactsSQLite",
                "FailureArtifactsZip", "FailureArtifactsSystem", "CFailureArtifactsShared",
                "CFailureArtifactsSQLite",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifactsReport",
            dependencies: [
                "FailureArtifactsAnalysis", "FailureArtifactsReading", "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsZip", "FailureArtifactsSystem",
                "CFailureArtifactsShared",
            ],
            // The page's style and script.
            resources: [.embedInCode("Web")], swiftSettings: settings),
        .target(
            name: "FailureArtifactsTestRun",
            dependencies: [
                "FailureArtifactsAnalysis", "FailureArtifactsReading", "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsSystem", "CFailureArtifactsProcesses",
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "FailureArtifactsCommands",
            dependencies: [
                "FailureArtifactsReport", "FailureArtifactsTestRun", "FailureArtifactsAnalysis",
                "FailureArtifactsReading", "FailureArtifactsBundle", "FailureArtifactsSQLite",
                "FailureArtifactsZip", "FailureArtifactsSystem", "CFailureArtifactsProcesses",
            ],
            swiftSettings: settings),

        // Tests.
        .target(
            name: "FailureArtifactsTestPrograms", path: "Tests/FailureArtifactsTestPrograms",
            swiftSettings: settings),
        .target(
            name: "CFailureArtifactsTestInstall", path: "Tests/CFailureArtifactsTestInstall",
            cSettings: strict),
        // Depends on the target above, which turns the adapters off that are linked to these tests.
        .target(
            name: "FailureArtifactsTestSupport",
            dependencies: [
                "FailureArtifactsReading", "FailureArtifactsCapture", "FailureArtifactsBundle",
                "FailureArtifactsSystem", "FailureArtifactsTestPrograms", "FailureArtifactsTestStores",
                "CFailureArtifactsTestInstall",
            ],
            path: "Tests/FailureArtifactsTestSupport", swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsSystemTests",
            dependencies: ["FailureArtifactsSystem", "FailureArtifactsTestPrograms"],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsZipTests",
            // The tests read the output of the writer.
            dependencies: [
                "FailureArtifactsTestPrograms", "FailureArtifactsReading", "FailureArtifactsZip",
                "FailureArtifactsSystem",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsBundleTests",
            dependencies: [
                "FailureArtifactsReading", "FailureArtifactsBundle", "FailureArtifactsSQLite",
                "FailureArtifactsSystem", "FailureArtifactsTestPrograms", "FailureArtifactsZip",
                "CFailureArtifactsShared",
            ],
            exclude: ["SourceLines/unnoticed.c"], swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsCaptureTests",
            dependencies: [
                "FailureArtifactsCapture", "FailureArtifactsCoreData", "FailureArtifactsReading",
                "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsZip", "FailureArtifactsSystem",
                "CFailureArtifactsShared", "CFailureArtifactsSQLite", "CFailureArtifactsCapture",
                "CFailureArtifactsTestInstall", "FailureArtifactsTestPrograms",
                "FailureArtifactsTestStores",
                "FailureArtifactsTestSupport",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifactsTestStores",
            dependencies: ["CFailureArtifactsSQLite", "FailureArtifactsSystem"],
            path: "Tests/FailureArtifactsTestStores", swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsSQLiteTests",
            // The tests read the output of the recorder and of redaction.
            dependencies: [
                "FailureArtifactsReading", "FailureArtifactsSQLite", "FailureArtifactsSystem",
                "CFailureArtifactsSQLite", "FailureArtifactsTestPrograms", "FailureArtifactsTestStores",
            ],
            exclude: ["History/compare.py", "History/wal.py", "History/workload.py"],
            swiftSettings: settings),
        // Bundles and stores for the tests of the tool.
        .target(
            name: "FailureArtifactsTestFixtures",
            dependencies: [
                "FailureArtifactsAnalysis", "FailureArtifactsReading", "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsZip", "FailureArtifactsSystem",
                "FailureArtifactsTestPrograms",
            ],
            path: "Tests/FailureArtifactsTestFixtures", exclude: ["store.py"],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsAnalysisTests",
            dependencies: [
                "FailureArtifactsAnalysis", "FailureArtifactsReading", "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsSystem", "FailureArtifactsTestFixtures",
                "FailureArtifactsTestStores", "CFailureArtifactsSQLite",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsReportTests",
            dependencies: [
                "FailureArtifactsReport", "FailureArtifactsAnalysis", "FailureArtifactsReading",
                "FailureArtifactsBundle", "FailureArtifactsSQLite", "FailureArtifactsSystem",
                "FailureArtifactsTestFixtures", "FailureArtifactsTestStores",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsTestRunTests",
            dependencies: [
                "FailureArtifactsTestRun", "FailureArtifactsAnalysis", "FailureArtifactsBundle",
                "FailureArtifactsSystem", "FailureArtifactsTestFixtures", "FailureArtifactsTestPrograms",
                "FailureArtifactsTestStores",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsCommandsTests",
            // These tests run the tool.
            dependencies: [
                "FailureArtifactsCommands", "FailureArtifactsReport",
                "FailureArtifactsTestRun", "FailureArtifactsAnalysis", "FailureArtifactsReading",
                "FailureArtifactsBundle", "FailureArtifactsSQLite", "FailureArtifactsZip",
                "FailureArtifactsSystem", "FailureArtifactsTestFixtures", "FailureArtifactsTestPrograms",
                "FailureArtifactsTestStores",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsReadingTests",
            dependencies: [
                "FailureArtifactsReading", "FailureArtifactsBundle", "FailureArtifactsSQLite",
                "FailureArtifactsZip", "FailureArtifactsSystem", "CFailureArtifactsSQLite",
                "FailureArtifactsTestPrograms", "FailureArtifactsTestStores",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsTests",
            dependencies: [
                "FailureArtifacts", "FailureArtifactsBundle", "FailureArtifactsCapture",
                "FailureArtifactsTestStores", "FailureArtifactsTestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsTestingTests",
            dependencies: [
                "FailureArtifacts", "FailureArtifactsTesting", "FailureArtifactsBundle",
                "FailureArtifactsSystem",
                "FailureArtifactsTestStores", "FailureArtifactsTestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsTestKitTests",
            dependencies: [
                "FailureArtifactsTestKit", "FailureArtifactsTesting", "FailureArtifactsReading",
                "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsSystem", "CFailureArtifactsSQLite",
                "FailureArtifactsTestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FailureArtifactsCoreDataTests",
            dependencies: [
                "FailureArtifactsCoreData", "FailureArtifactsTestKit", "FailureArtifactsTestSupport",
                "FailureArtifactsCapture", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),
        // Runs the targets of `Scripts/fuzz` with a fixed number of inputs each.
        .testTarget(
            name: "FailureArtifactsFuzzTests",
            dependencies: [
                "FailureArtifactsCommands", "FailureArtifactsAnalysis", "FailureArtifactsReading",
                "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsZip", "FailureArtifactsSystem",
                "FailureArtifactsTestStores",
            ],
            swiftSettings: settings),
    ]
)
