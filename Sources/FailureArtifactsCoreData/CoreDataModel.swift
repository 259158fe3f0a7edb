#if canImport(CoreData)
public import CoreData
internal import FailureArtifactsSystem
internal import FailureArtifactsTestKit

/// Compiled models of Core Data, loaded from bundles.
///
/// ```swift
/// override var model: NSManagedObjectModel {
///     get throws { try CoreDataModel.load("Games", version: "App V1", in: .module) }
/// }
/// ```
public enum CoreDataModel {
    /// The models that were loaded, which nothing changes afterwards.
    private static let loaded = Lock<[URL: NSManagedObjectModel]>([:])

    /// Loads a model, or a version of it.
    ///
    /// The same version of the same model is always the same object, because to Core Data each model has a set of classes
    /// of its own. Don't change it. Any thread may call this method.
    ///
    /// - Parameters:
    ///   - name: The model's name, such as `Games` for `Games.xcdatamodeld`; nil for the only model in the bundle.
    ///   - version: The version's name, such as `App V1` for `App V1.xcdatamodel`; nil for the current version.
    ///   - bundle: The bundle with the compiled model, such as `.module`.
    /// - Returns: The model.
    /// - Throws: A `TestStoreError` if there is no such model or version, which lists those there are, or if Core Data
    ///   cannot load it.
    public static func load(
        _ name: String? = nil, version: String? = nil, in bundle: Bundle
    ) throws -> NSManagedObjectModel {
        let file = try CompiledModels(in: bundle).file(of: name, version: version)
        return try loaded.withLock { loaded in
            if let known = loaded[file] { return known }
            guard let model = NSManagedObjectModel(contentsOf: file) else {
                throw TestStoreError(
                    .file, "Core Data cannot load the model '\(file.path(percentEncoded: false))'.")
            }
            loaded[file] = model
            return model
        }
    }
}
#endif
