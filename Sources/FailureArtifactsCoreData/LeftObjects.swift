internal import FailureArtifactsTestKit

// This file needs no Core Data, and is tested on every platform.

/// The objects that a test has left in a shared container.
package struct LeftObjects {
    /// The number of saved objects of each entity, by the entity's name.
    package var counts: [String: Int]
    /// True if the context for the main queue has changes that aren't saved.
    package var hasUnsavedChanges: Bool

    package init(counts: [String: Int] = [:], hasUnsavedChanges: Bool = false) {
        self.counts = counts
        self.hasUnsavedChanges = hasUnsavedChanges
    }

    /// Checks that nothing is left.
    package func check(after test: String, in container: String) throws {
        var parts = counts.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { entity, count in
            "\(entity): \(count) \(count == 1 ? "object" : "objects") inserted"
        }
        if hasUnsavedChanges { parts.append("the context has unsaved changes") }
        guard !parts.isEmpty else { return }
        throw TestStoreError(
            .leak,
            "\(test) left the shared container '\(container)' changed: \(parts.joined(separator: ", "))."
        )
    }
}
