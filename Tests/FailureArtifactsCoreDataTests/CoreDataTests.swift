import FailureArtifactsTestKit
import Testing

@testable import FailureArtifactsCoreData

/// The product has no public interface outside Apple platforms, where only linking it can be tested.
@Suite struct CoreDataTests {
    @Test func productLinksWithTheTestKit() {
        #expect(TestStoreError(.cannotStart, "A text.").description == "A text.")
    }

    #if canImport(CoreData)
    @Test func observerOfCoreDataIsInstalled() {
        #expect(CoreDataStores.isInstalled)
    }
    #endif
}
