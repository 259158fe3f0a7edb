internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The type with which a generated test opens its store.
enum FixtureStoreType: Equatable {
    /// The test kit's own type.
    case sqlite
    case databaseQueue
    case databasePool
    /// A type of the user that conforms to `TestStore`.
    case own(String)

    /// Creates the type that `--store-type` names; nil if the text isn't the name of a type.
    init?(named name: String) {
        switch name {
        case "SQLiteTestStore": self = .sqlite
        case "DatabaseQueue": self = .databaseQueue
        case "DatabasePool": self = .databasePool
        default:
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            let isName = parts.allSatisfy { part in
                guard let first = part.first, first.isLetter || first == "_" else { return false }
                return part.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
            }
            guard isName else { return nil }
            self = .own(name)
        }
    }

    /// Infers the type from the package in the working directory, or else from the way in which the failed test used
    /// the store.
    init(of store: BundleMetadata.Store, _ statements: [StatementRecord], in directory: String) {
        let own = Self.conformingTypes(inPackage: directory)
        if let name = own.first, own.count == 1 {
            self = .own(name)
            return
        }
        // GRDB writes these statements out in full.
        let isGRDB =
            (store.tables ?? []).contains { $0.name == "grdb_migrations" }
            || statements.contains {
                ["COMMIT TRANSACTION", "BEGIN DEFERRED TRANSACTION", "BEGIN IMMEDIATE TRANSACTION"]
                    .contains($0.sql)
            }
        self = !isGRDB ? .sqlite : store.journalMode == "wal" ? .databasePool : .databaseQueue
    }

    /// The maximum number of source files to read, and the maximum size of one, in bytes.
    private static let limits = (files: 5000, bytes: 1 << 20)

    /// Returns the names of the types of a package that conform to `TestStore`, without those of generated tests.
    private static func conformingTypes(inPackage directory: String) -> [String] {
        guard FileSystem.regularFile(Path.join(directory, "Package.swift")) != nil else { return [] }
        var names: Set<String> = []
        var files = 0
        var open = ["Sources", "Tests"].map { Path.join(directory, $0) }
        while let path = open.popLast(), files < limits.files {
            for name in ((try? FileSystem.contents(ofDirectory: path)) ?? []) where !name.hasPrefix(".")
            {
                let file = Path.join(path, name)
                // Links could lead out of the package, or in circles.
                guard let status = try? FileSystem.statusWithoutFollowing(file) else { continue }
                if status.kind == .directory {
                    open.append(file)
                } else if status.kind == .regular, name.hasSuffix(".swift"), status.size < limits.bytes {
                    files += 1
                    guard let bytes = try? FileSystem.contents(ofFile: file),
                        bytes.withUnsafeBytes({ $0.holds("TestStore") })
                    else { continue }
                    for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
                    {
                        if let type = conformingType(line) { names.insert(type) }
                    }
                }
            }
        }
        return names.sorted()
    }

    /// Returns the type that a line such as `final class GRDBStore: TestStore {` declares.
    private static func conformingType(_ line: Substring) -> String? {
        let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
        guard let keyword = words.firstIndex(where: { ["class", "actor", "extension"].contains($0) }),
            words.indices.contains(keyword + 1),
            let colon = line.firstIndex(of: ":"), !line.drop(while: \.isWhitespace).hasPrefix("//"),
            line[colon...].split(whereSeparator: { !($0.isLetter || $0.isNumber || $0 == "_") })
                .contains("TestStore")
        else { return nil }
        let name = words[keyword + 1]
        return name.hasSuffix("FixtureStore") ? nil : name
    }
}
