internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
internal import Foundation

/// Facts about Core Data's stores that the adapter derives without Core Data, so that every platform tests them.
enum CoreDataFacts {
    /// Returns the description of a store.
    ///
    /// - `url`: the store's location; nil if it has none.
    static func describe(type: String, url: URL?) -> SeenStore {
        let path = url.flatMap { $0.isFileURL ? $0.path(percentEncoded: false) : nil }
        let isNull = path == "/dev/null"
        let stem = path.map { Path.stem(of: Path.name(of: $0)) } ?? ""
        let name = isNull || stem.isEmpty ? "memory" : stem
        let reason: String? =
            switch (type, path) {
            case ("SQLite", nil): "It has no file."
            case ("SQLite", _) where isNull:
                "Its file is /dev/null, so SQLite keeps it in memory, and Core Data cannot copy it."
            case ("SQLite", _): nil
            case ("InMemory", _): "Core Data keeps it in memory and cannot copy it."
            default: "It is of the type '\(type)', which is not an SQLite database."
            }
        return SeenStore(
            path: type == "InMemory" ? nil : path, name: type == "InMemory" ? "memory" : name,
            reasonForNoContent: reason)
    }

    /// Returns the externally stored values in the hidden folder beside a store, under names that aren't hidden.
    static func externalFiles(ofStoreAt path: String) -> [LibraryStore.ExternalFile] {
        let name = Path.stem(of: Path.name(of: path))
        let folder = Path.join(Path.directory(of: path), ".\(name)_SUPPORT/_EXTERNAL_DATA")
        let files = (try? FileSystem.contents(ofDirectory: folder)) ?? []
        return files.sorted().map { file in
            LibraryStore.ExternalFile(
                name: "\(name)_EXTERNAL_DATA-\(file)", path: Path.join(folder, file))
        }
    }
}
