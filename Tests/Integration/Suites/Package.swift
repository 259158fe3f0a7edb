// swift-tools-version: 6.3

import PackageDescription

// As the package that is tested, these modules are compiled as a whole: RawSuite in a third of the time.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"),
    .unsafeFlags(["-whole-module-optimization", "-num-threads", "2"], .when(configuration: .debug)),
]

// A copy of SQLite with the names of sqlite-nio, which the checks make; see checks/other_sqlite.py. It isn't built for
// shared libraries, which Swift Build makes of tests, so its symbols must not be interposed.
let copy = Context.environment["SUITE_SQLITE_NIO"].map { archive in
    [
        LinkerSetting.unsafeFlags([
            "-Xlinker", "-Bsymbolic", "-Xlinker", "--whole-archive", "-Xlinker", archive,
            "-Xlinker", "--no-whole-archive",
        ]),
        .linkedLibrary("m"), .linkedLibrary("z"),
    ]
}

// Tests that fail on purpose, as a user of the product would write them. `../run` starts them one by one and reads
// their outputs. RawSuite and GRDBSuite only list the product and never import it. TestingSuite has tests of Swift
// Testing. KitSuite has the code of the article about the test kit, and tests that fail with stores of the kit. CISuite
// has one test for each result that a CI service distinguishes, of both frameworks. StatesSuite has one test, which
// fails with a connection in a given state.
let package = Package(
    name: "integration-suites",
    platforms: [.macOS(.v13)],
    dependencies: [
        // The name is explicit because the checkout's folder can have any name.
        .package(name: "failure-artifacts", path: "../../.."),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CSuiteSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
        // C code that is called by Swift, and that calls Swift.
        .target(name: "CSuiteCallbacks", dependencies: ["CSuiteSQLite"]),
        .target(name: "CSuiteOtherSQLite", linkerSettings: copy),
        // An application with mistakes, which `explain` finds.
        .target(
            name: "SuiteMarket", dependencies: [.product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .testTarget(
            name: "RawSuite",
            dependencies: [
                "CSuiteCallbacks",
                "CSuiteOtherSQLite",
                "CSuiteSQLite",
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "StatesSuite",
            dependencies: [
                "CSuiteSQLite",
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "GRDBSuite",
            dependencies: [
                "SuiteMarket",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ExplicitSuite",
            dependencies: [
                "CSuiteSQLite",
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TestingSuite",
            dependencies: [
                "CSuiteSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "CISuite",
            dependencies: [
                "CSuiteSQLite",
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "KitSuite",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "FailureArtifactsTestKit", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
    ]
)
