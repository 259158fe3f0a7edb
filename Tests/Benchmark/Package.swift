// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

// Tests that `Scripts/benchmark` starts and measures. As with any user, the target only lists the product.
let package = Package(
    name: "benchmark-suite",
    platforms: [.macOS(.v13)],
    dependencies: [
        // Named, because the folder of a checkout may be called anything.
        .package(name: "failure-artifacts", path: "../..")
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
            ],
            swiftSettings: settings),
    ]
)
