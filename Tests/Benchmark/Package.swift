// swift-tools-version: 6.3

import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

// Tests that `Scripts/benchmark` runs and measures. As in a user's package, the target only lists the
// product.
let package = Package(
    name: "benchmark-suite",
    platforms: [.macOS(.v13)],
    dependencies: [
        // The name is explicit because the checkout's folder can have any name.
        .package(name: "failure-artifacts", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CBenchmarkSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
        .testTarget(
            name: "BenchmarkSuite",
            dependencies: [
                "CBenchmarkSQLite",
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
    ]
)
