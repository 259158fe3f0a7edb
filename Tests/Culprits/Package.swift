// swift-tools-version: 6.3

import PackageDescription

// As the package that is tested, these modules are compiled as a whole, which takes less time.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error),
    .unsafeFlags(["-whole-module-optimization", "-num-threads", "2"], .when(configuration: .debug)),
]

// Small libraries with one wrong function here and there, and the tests that fail because of it. A comment marks each
// culprit, and another one above each test states the finding that names it. `./score` runs the tests and compares
// what `failure-artifacts explain` finds. The environment variable CULPRITS_STORE chooses the kind of store: memory,
// rollback or wal. `kinds.json` lists the tests that run with certain kinds only.
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
            name: "Stores", dependencies: [.product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .target(name: "Ledger", dependencies: ["CCulpritsSQLite"], swiftSettings: settings),
        .target(
            name: "Shop", dependencies: [.product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .testTarget(
            name: "LedgerTests",
            dependencies: [
                "Ledger", "Stores", .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ShopTests",
            dependencies: [
                "Shop", "Stores", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .target(
            name: "Messaging",
            dependencies: [.product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .target(
            name: "Upgrades",
            dependencies: ["Ledger", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .target(
            name: "Podcasts",
            dependencies: [.product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .target(name: "Catalog", dependencies: ["CCulpritsSQLite"], swiftSettings: settings),
        .testTarget(
            name: "MessagingTests",
            dependencies: [
                "Messaging", "Stores",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "UpgradesTests",
            dependencies: [
                "Upgrades", "Stores",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PodcastsTests",
            dependencies: [
                "Podcasts", "Stores",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "CatalogTests",
            dependencies: [
                "Catalog", "Stores",
                .product(name: "FailureArtifacts", package: "failure-artifacts"),
            ],
            swiftSettings: settings),
    ]
)
