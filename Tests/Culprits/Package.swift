// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

// Small applications with planted bugs, and tests that fail because of them. `failure-artifacts explain` is judged by
// the bundles of these tests. A comment above each test states the expected findings; the line that does the damage
// ends with a comment `Culprit:` and the test's name.
let package = Package(
    name: "culprits",
    platforms: [.macOS(.v13)],
    dependencies: [
        // The name is explicit because the checkout's folder can have any name.
        .package(name: "failure-artifacts", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CCulpritsSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
        .target(
            name: "Messaging",
            dependencies: [.product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .target(
            name: "Upgrades",
            dependencies: ["CCulpritsSQLite", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .target(name: "Catalog", dependencies: ["CCulpritsSQLite"], swiftSettings: settings),
        .testTarget(
            name: "MessagingTests",
            dependencies: [
                "Messaging",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "UpgradesTests",
            dependencies: [
                "Upgrades",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "CatalogTests",
            dependencies: [
                "Catalog",
                .product(name: "FailureArtifactsTesting", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
    ]
)
