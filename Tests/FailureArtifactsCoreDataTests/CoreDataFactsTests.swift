import FailureArtifactsCapture
import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsCoreData

@Suite struct CoreDataFactsTests {
    @Test func storeInAFileCanBeCaptured() {
        #expect(
            CoreDataFacts.describe(type: "SQLite", url: URL(filePath: "/a b/Fruit.sqlite"))
                == SeenStore(path: "/a b/Fruit.sqlite", name: "Fruit", reasonForNoContent: nil))
    }

    @Test(
        arguments: [
            (
                "SQLite", "file:///dev/null", "/dev/null", "memory",
                "Its file is /dev/null, so SQLite keeps it in memory, and Core Data cannot copy it."
            ),
            (
                "InMemory", "file:///a/Fruit.sqlite", nil, "memory",
                "Core Data keeps it in memory and cannot copy it."
            ),
            ("InMemory", nil, nil, "memory", "Core Data keeps it in memory and cannot copy it."),
            (
                "InMemory", "memory://1", nil, "memory",
                "Core Data keeps it in memory and cannot copy it."
            ),
            (
                "Binary", "file:///a/Fruit.bin", "/a/Fruit.bin", "Fruit",
                "It is of the type 'Binary', which is not an SQLite database."
            ),
            ("Own", nil, nil, "memory", "It is of the type 'Own', which is not an SQLite database."),
            ("SQLite", nil, nil, "memory", "It has no file."),
        ] as [(String, String?, String?, String, String)])
    func otherStoreIsDescribedWithTheReason(
        _ type: String, _ url: String?, _ path: String?, _ name: String, _ reason: String
    ) {
        #expect(
            CoreDataFacts.describe(type: type, url: url.flatMap { URL(string: $0) })
                == SeenStore(path: path, name: name, reasonForNoContent: reason))
    }

    @Test func externalFilesAreThoseBesideTheStore() throws {
        let directory = try FileSystem.createUniqueDirectory(
            in: FileManager.default.temporaryDirectory.path, prefix: "external files ")
        defer { try? FileSystem.remove(directory) }
        let folder = directory + "/.Fruit_SUPPORT/_EXTERNAL_DATA"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for name in ["B2", "A1"] { try FileSystem.write([1], toNewFile: folder + "/" + name) }
        let files = CoreDataFacts.externalFiles(ofStoreAt: directory + "/Fruit.sqlite")
        #expect(files.map(\.name) == ["Fruit_EXTERNAL_DATA-A1", "Fruit_EXTERNAL_DATA-B2"])
        #expect(files.map(\.path) == [folder + "/A1", folder + "/B2"])
        #expect(CoreDataFacts.externalFiles(ofStoreAt: directory + "/Other.sqlite").isEmpty)
    }
}
