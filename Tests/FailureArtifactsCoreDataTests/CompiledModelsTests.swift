import FailureArtifactsCoreData
import FailureArtifactsTestKit
import Foundation
import Testing

@Suite struct CompiledModelsTests {
    /// Calls a closure with the models in a bundle that contains some files.
    private func withModels(_ files: [String], _ body: (CompiledModels, URL) throws -> Void) throws {
        let manager = FileManager.default
        let directory = manager.temporaryDirectory.appending(
            path: "models \(UUID().uuidString)", directoryHint: .isDirectory)
        try manager.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? manager.removeItem(at: directory) }
        for file in files {
            let url = directory.appending(path: file)
            try manager.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: url)
        }
        let bundle = try #require(Bundle(url: directory))
        try body(try CompiledModels(in: bundle), directory)
    }

    /// Checks that a model's file is found, by its path in the bundle.
    private func expect(
        _ path: String, of name: String?, version: String? = nil, among files: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try withModels(files) { models, directory in
            let found = try models.file(of: name, version: version).standardizedFileURL.path
            let expected = directory.appending(path: path).standardizedFileURL.path
            #expect(found == expected, sourceLocation: sourceLocation)
        }
    }

    private func expectError(
        _ reason: TestStoreError.Reason, _ text: String, of name: String?, version: String? = nil,
        among files: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try withModels(files) { models, directory in
            let error = #expect(throws: TestStoreError.self, sourceLocation: sourceLocation) {
                try models.file(of: name, version: version)
            }
            #expect(error?.reason == reason, sourceLocation: sourceLocation)
            let place = try #require(error?.description.firstMatch(of: /'([^']*models [^']*)'/)).output.1
            #expect(URL(filePath: String(place)).standardizedFileURL.path == directory.path)
            let description = error?.description.replacing("'\(place)'", with: "PLACE")
            #expect(description == text, sourceLocation: sourceLocation)
        }
    }

    private let games = [
        "Games.momd/App V1.mom", "Games.momd/App V2.mom", "Games.momd/App V2.omo",
        "Games.momd/VersionInfo.plist", "games.sql",
    ]

    @Test func modelWithVersionsIsADirectory() throws {
        try expect("Games.momd", of: "Games", among: games)
        try expect("Games.momd", of: nil, among: games)
    }

    @Test func versionIsAFileInTheModel() throws {
        try expect("Games.momd/App V1.mom", of: "Games", version: "App V1", among: games)
        try expect("Games.momd/App V2.mom", of: nil, version: "App V2", among: games)
        try expect("果物.momd/第1版.mom", of: "果物", version: "第1版", among: ["果物.momd/第1版.mom"])
    }

    @Test func modelWithoutVersionsIsAFile() throws {
        try expect("Fruits.mom", of: "Fruits", among: games + ["Fruits.mom"])
        try expect("Fruits.mom", of: nil, among: ["Fruits.mom"])
    }

    @Test func directoryIsPreferredToAFileOfTheSameName() throws {
        try expect("Games.momd", of: nil, among: games + ["Games.mom"])
    }

    @Test func unknownVersionIsAnErrorThatListsTheVersions() throws {
        try expectError(
            .version,
            "The model 'Games' in PLACE has no version 'App V3'; found 'App V1', 'App V2'.",
            of: "Games", version: "App V3", among: games)
        try expectError(
            .version, "The model 'Games' in PLACE has no version 'App V1'; found nothing.",
            of: "Games", version: "App V1", among: ["Games.momd/VersionInfo.plist"])
        try expectError(
            .version, "The model 'Fruits' in PLACE is a single '.mom' and has no versions.",
            of: "Fruits", version: "App V1", among: ["Fruits.mom"])
    }

    @Test func unknownModelIsAnErrorThatListsTheModels() throws {
        try expectError(
            .file, "There is no model 'Game' in PLACE; found 'Fruits', 'Games'.",
            of: "Game", among: games + ["Fruits.mom"])
    }

    @Test func modelWithoutANameMustBeTheOnlyOne() throws {
        try expectError(
            .file,
            "There is not exactly one compiled model in PLACE; found 'Fruits', 'Games'. "
                + "Name one of them.", of: nil, among: games + ["Fruits.mom"])
        try expectError(
            .file,
            "There is not exactly one compiled model in PLACE; found nothing. "
                + "Use the bundle that contains it, such as '.module'.", of: nil, among: ["games.sql"])
    }

    @Test func unreadableDirectoryIsAnError() throws {
        try withModels(["Games.momd"]) { models, _ in
            let error = #expect(throws: TestStoreError.self) {
                try models.file(of: "Games", version: "App V1")
            }
            #expect(error?.reason == .file)
            #expect(error?.description.contains("Games.momd' cannot be read: ") == true)
        }
    }
}

@Suite struct LeftObjectsTests {
    @Test func emptyContainerIsNoError() throws {
        try LeftObjects().check(after: "FruitTests.testAdding", in: "fruits")
        try LeftObjects(counts: ["Fruit": 0]).check(after: "FruitTests.testAdding", in: "fruits")
    }

    @Test(arguments: [
        (["Fruit": 1], false, "Fruit: 1 object inserted"),
        (
            ["Shop": 2, "Fruit": 1, "Tree": 0], false,
            "Fruit: 1 object inserted, Shop: 2 objects inserted"
        ),
        ([:], true, "the context has unsaved changes"),
        (["Fruit": 1], true, "Fruit: 1 object inserted, the context has unsaved changes"),
    ]) func whatIsLeftIsAnErrorThatNamesTheTest(
        _ counts: [String: Int], _ hasUnsavedChanges: Bool, _ text: String
    ) {
        let left = LeftObjects(counts: counts, hasUnsavedChanges: hasUnsavedChanges)
        let error = #expect(throws: TestStoreError.self) {
            try left.check(after: "FruitTests.testAdding", in: "fruits")
        }
        #expect(error?.reason == .leak)
        #expect(
            error?.description
                == "FruitTests.testAdding left the shared container 'fruits' changed: \(text).")
    }
}
