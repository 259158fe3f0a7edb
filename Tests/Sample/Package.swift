// swift-tools-version: 6.3

import PackageDescription

// The bookkeeping of a shared flat, with tests. One test fails: Scripts/demo shows the bundle that it leaves.
let package = Package(
    name: "ledger",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(name: "failure-artifacts", path: "../.."),
    ],
    targets: [
        .target(name: "Ledger", dependencies: [.product(name: "GRDB", package: "GRDB.swift")]),
        .testTarget(
            name: "LedgerTests",
            dependencies: [
                "Ledger",
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
                .product(name: "FailureArtifactsTestKit", package: "failure-artifacts"),
            ]),
    ]
)
