import FailureArtifactsCoreData
import FailureArtifactsTestKit
import Testing

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
