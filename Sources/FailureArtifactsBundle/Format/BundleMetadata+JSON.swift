#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import FailureArtifactsSystem
package import FailureArtifactsZip

extension BundleMetadata {
    /// The content of `metadata.json`: UTF-8, sorted keys, indented.
    package func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // JSONEncoder fails on numbers that JSON does not have, and the durations are finite.
        guard let data = try? encoder.encode(self) else { return Array("{}".utf8) }
        return Array(data) + [UInt8(ascii: "\n")]
    }
}

extension BundleMetadata {
    /// Reads the bytes of a `metadata.json`; keys it does not know are passed over.
    ///
    /// - Parameters:
    ///   - json: The whole file.
    ///   - bundle: The bundle's path, for the error.
    /// - Throws: That the form is newer than this code, or what is wrong with it and where.
    package init(json: [UInt8], of bundle: String) throws(BundleError) {
        let data = Data(json)
        let decoder = JSONDecoder()
        // The version first: of a newer form nothing else can be expected to fit.
        let version = try Self.decode(VersionOnly.self, from: data, of: bundle, with: decoder)
            .formatVersion
        guard version.isReadable else { throw BundleError(bundle, .newerVersion(version)) }
        self = try Self.decode(BundleMetadata.self, from: data, of: bundle, with: decoder)
        let allStores = [stores] + (snapshots ?? []).map(\.stores)
        let count = allStores.reduce(0) { $0 + $1.count }
        guard count <= Self.maximumStores else {
            throw BundleError(
                bundle,
                .badMetadata("it describes \(count) stores, and the limit is \(Self.maximumStores)"))
        }
        let shared = sharedEntries?.count ?? 0
        guard shared <= SharedEntry.maximumCount else {
            throw BundleError(
                bundle,
                .badMetadata(
                    "it has \(shared) entries elsewhere, and the limit is \(SharedEntry.maximumCount)"))
        }
        for stores in allStores {
            var names: Set<String> = []
            for store in stores where !names.insert(store.name).inserted {
                throw BundleError(bundle, .badMetadata("it has two stores named '\(store.name)'"))
            }
        }
    }

    /// More stores, over all snapshots, are not read.
    private static let maximumStores = 10_000

    /// The one key that every version has.
    private struct VersionOnly: Decodable {
        var formatVersion: FormatVersion
    }

    private static func decode<Form: Decodable>(
        _ form: Form.Type, from data: Data, of bundle: String, with decoder: JSONDecoder
    ) throws(BundleError) -> Form {
        do {
            return try decoder.decode(form, from: data)
        } catch let error as DecodingError {
            throw BundleError(bundle, .badMetadata(Self.clause(for: error)))
        } catch {
            throw BundleError(bundle, .badMetadata("\(error)"))
        }
    }

    /// What is wrong, and where, without the names of Swift's types.
    private static func clause(for error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, let context):
            return "\(place(context.codingPath)) has no '\(key.stringValue)'"
        case .typeMismatch(_, let context):
            return "\(place(context.codingPath)) has another type than it should"
        case .valueNotFound(_, let context):
            return "\(place(context.codingPath)) is null"
        case .dataCorrupted(let context):
            if context.codingPath.isEmpty { return "it is not valid JSON" }
            return "\(place(context.codingPath)) has a value that is not known"
        @unknown default:
            return "it is not what it should be"
        }
    }

    /// `stores[0].capture`, or `it` for the whole.
    private static func place(_ path: [any CodingKey]) -> String {
        var result = ""
        for key in path {
            if let index = key.intValue {
                result += "[\(index)]"
            } else {
                result += result.isEmpty ? key.stringValue : "." + key.stringValue
            }
        }
        return result.isEmpty ? "it" : "'\(result)'"
    }
}

extension BundleMetadata {
    /// The name of the entry that describes a bundle.
    package static let entryName = "metadata.json"
    /// The largest description that is read, in bytes.
    package static let sizeLimit = 16 << 20

    /// Reads the metadata of a bundle.
    ///
    /// - Parameters:
    ///   - archive: The bundle, open.
    ///   - bundle: What the bundle is called in errors.
    /// - Throws: That there is none, or what is wrong with it.
    package init(in archive: ZipArchive, of bundle: String) throws(BundleError) {
        guard let entry = archive.entry(named: Self.entryName) else {
            throw BundleError(bundle, .noMetadata)
        }
        let json: [UInt8]
        do {
            json = try archive.contents(of: entry, limit: Self.sizeLimit)
        } catch {
            throw BundleError(bundle, zip: error)
        }
        try self.init(json: json, of: bundle)
    }

    /// Reads the metadata of a bundle that is a file.
    ///
    /// - Parameter path: Of the file.
    /// - Throws: That it cannot be opened, is no bundle, or what is wrong with it.
    package init(ofBundle path: String) throws(BundleError) {
        let archive: ZipArchive
        do {
            archive = try ZipArchive(path: path)
        } catch {
            throw BundleError(path, zip: error)
        }
        try self.init(in: archive, of: path)
    }
}
