// swift-tools-version: 6.3

import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// The program that `Scripts/fuzz` runs: libFuzzer with the reading side of the product. Its sources are
// symbolic links to the product's. So they are compiled with the fuzzer's instrumentation, in the same
// package as the targets.
let package = Package(
    name: "fuzz",
    platforms: [.macOS(.v13)],
    targets: [
        .systemLibrary(
            name: "CFailureArtifactsSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
        .systemLibrary(
            name: "CFailureArtifactsZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(name: "FailureArtifactsSystem", swiftSettings: settings),
        .target(
            name: "FailureArtifactsZip",
            dependencies: ["FailureArtifactsSystem", "CFailureArtifactsZlib"], swiftSettings: settings),
        .target(name: "CFailureArtifactsShared", dependencies: ["CFailureArtifactsSQLite"]),
        .target(
            name: "FailureArtifactsSQLite",
            dependencies: [
                "FailureArtifactsSystem", "CFailureArtifactsSQLite", "CFailureArtifactsShared",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifactsBundle",
            dependencies: [
                "FailureArtifactsSystem", "FailureArtifactsSQLite", "FailureArtifactsZip",
                "CFailureArtifactsShared",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifactsReading",
            dependencies: [
                "FailureArtifactsBundle", "FailureArtifactsSQLite", "FailureArtifactsZip",
                "FailureArtifactsSystem", "CFailureArtifactsShared", "CFailureArtifactsSQLite",
                "CFailureArtifactsZlib",
            ],
            swiftSettings: settings),
        .target(name: "CFailureArtifactsProcesses"),
        .target(
            name: "FailureArtifactsAnalysis",
            dependencies: [
                "FailureArtifactsReading", "FailureArtifactsBundle", "FailureArtifactsSQLite",
                "FailureArtifactsZip", "FailureArtifactsSystem", "CFailureArtifactsShared",
            ],
            swiftSettings: settings),
        .target(
            name: "FailureArtifactsReport",
            dependencies: [
                "FailureArtifactsAnalysis", "FailureArtifactsReading", "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsZip", "FailureArtifactsSystem",
                "CFailureArtifactsShared", "CFailureArtifactsZlib",
            ],
            resources: [.embedInCode("Web")], swiftSettings: settings),
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
                "FailureArtifactsZip", "FailureArtifactsSystem", "CFailureArtifactsProcesses",
            ],
            // Here it is a library.
            exclude: ["main.swift"], swiftSettings: settings),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "FailureArtifactsCommands", "FailureArtifactsAnalysis", "FailureArtifactsReading",
                "FailureArtifactsBundle",
                "FailureArtifactsSQLite", "FailureArtifactsZip", "FailureArtifactsSystem",
            ],
            swiftSettings: settings),
        .executableTarget(name: "FuzzEntry", dependencies: ["FuzzTargets"], swiftSettings: settings),
    ]
)
