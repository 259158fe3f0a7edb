internal import FailureArtifactsTestKit
package import Foundation

// This file needs no Core Data, and is tested on every platform.

/// The compiled models in a directory: `Name.momd` with a file `Version.mom` for each version, or a single `Name.mom`.
package struct CompiledModels {
    private let directory: URL
    private let entries: [String]

    /// Lists the models among the resources of a bundle.
    package init(in bundle: Bundle) throws {
        directory = bundle.resourceURL ?? bundle.bundleURL
        entries = try Self.contents(of: directory)
    }

    /// Returns the file or directory to load a model from.
    ///
    /// - `name`: the model's name, without an extension; nil for the only model.
    /// - `version`: the version's name, such as `App V1`; nil for the current version.
    package func file(of name: String?, version: String?) throws -> URL {
        let name = try name ?? onlyName()
        guard names.contains(name) else {
            throw TestStoreError(.file, "There is no model '\(name)' in '\(place)'; \(list(names)).")
        }
        guard entries.contains("\(name).momd") else {
            guard version == nil else {
                throw TestStoreError(
                    .version, "The model '\(name)' in '\(place)' is a single '.mom' and has no versions."
                )
            }
            return directory.appending(path: "\(name).mom")
        }
        let package = directory.appending(path: "\(name).momd", directoryHint: .isDirectory)
        guard let version else { return package }
        let versions = Self.names(in: try Self.contents(of: package), withExtension: "mom")
        guard versions.contains(version) else {
            throw TestStoreError(
                .version,
                "The model '\(name)' in '\(place)' has no version '\(version)'; \(list(versions)).")
        }
        return package.appending(path: "\(version).mom")
    }

    /// The names of the models, sorted.
    private var names: [String] {
        let all = ["momd", "mom"].flatMap { Self.names(in: entries, withExtension: $0) }
        return Set(all).sorted()
    }

    private var place: String { Self.path(of: directory) }

    private func onlyName() throws -> String {
        let names = names
        if names.count == 1 { return names[0] }
        let hint =
            names.isEmpty ? "Use the bundle that contains it, such as '.module'" : "Name one of them"
        throw TestStoreError(
            .file, "There is not exactly one compiled model in '\(place)'; \(list(names)). \(hint).")
    }

    private func list(_ names: [String]) -> String {
        names.isEmpty ? "found nothing" : "found " + names.map { "'\($0)'" }.joined(separator: ", ")
    }

    private static func names(in entries: [String], withExtension suffix: String) -> [String] {
        entries.filter { $0.hasSuffix(".\(suffix)") }.map { String($0.dropLast(suffix.count + 1)) }
            .sorted()
    }

    private static func contents(of directory: URL) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path(of: directory))
        } catch {
            throw TestStoreError(
                .file, "The directory '\(path(of: directory))' cannot be read", because: error)
        }
    }

    /// Returns a directory as a path, without a slash at its end.
    private static func path(of directory: URL) -> String {
        let path = directory.path(percentEncoded: false)
        return path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}

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
