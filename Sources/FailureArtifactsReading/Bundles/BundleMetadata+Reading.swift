#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
package import FailureArtifactsBundle

extension BundleMetadata {
    /// Parses the bytes of a `metadata.json`; ignores unknown keys.
    package init(json: [UInt8], of bundle: String) throws(BundleError) {
        let data = Data(json)
        let decoder = JSONDecoder()
        // Check the version first: the rest of a newer format may not fit.
        let version = try Self.decode(VersionOnly.self, from: data, of: bundle, with: decoder)
            .formatVersion
        guard version.isReadable else { throw BundleError(bundle, .newerVersion(version)) }
        self = try Self.decode(BundleMetadata.self, from: data, of: bundle, with: decoder)
        for index in failures.indices {
            failures[index].message = failures[index].message.withoutLongRunsOfFlags
        }
        (test.suite, test.name) = (test.suite.withoutLongRunsOfFlags, test.name.withoutLongRunsOfFlags)
        test.arguments = test.arguments?.map(\.withoutLongRunsOfFlags)
        let allStores = [stores] + (snapshots ?? []).map(\.stores)
        let count = allStores.reduce(0) { $0 + $1.count }
        guard count <= Self.maximumStores else {
            throw BundleError(
                bundle,
                .badMetadata("it describes \(count) stores, and the limit is \(Self.maximumStores)"))
        }
        let shared = sharedEntries?.count ?? 0
        guard shared <= Self.maximumSharedEntries else {
            throw BundleError(
                bundle,
                .badMetadata(
                    "it has \(shared) entries elsewhere, and the limit is \(Self.maximumSharedEntries)"))
        }
        for stores in allStores {
            var names: Set<String> = []
            for store in stores where !names.insert(store.name).inserted {
                throw BundleError(bundle, .badMetadata("it has two stores named '\(store.name)'"))
            }
        }
    }

    /// The maximum number of stores in a bundle, including those of snapshots.
    private static let maximumStores = 10_000

    /// The maximum number of entries that a bundle leaves to others.
    private static let maximumSharedEntries = 1000

    /// The only key that every version has.
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

    /// Describes a decoding error and its place as a clause, without the names of Swift types.
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

    /// Formats a path such as `stores[0].capture`; `it` stands for the whole file.
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

extension BundleMetadata {
    /// Returns the reference to another bundle for an entry that the archive lacks; nil for other entries.
    package func sharedEntry(named name: String) -> SharedEntry? {
        sharedEntries?.first { $0.entry == name }
    }
}

extension BundleMetadata.Test {
    /// Returns true if both are the same test with the same arguments, in any attempt.
    package func isSame(as other: BundleMetadata.Test) -> Bool {
        var other = other
        other.attempt = attempt
        return self == other
    }
}

extension BundleMetadata {
    /// The copies in the bundle, in the metadata's order.
    package var storeChoices: [StoreChoice] {
        stores.flatMap { $0.choices(prefix: "") }
            + (snapshots ?? []).flatMap { snapshot in
                snapshot.stores.flatMap { $0.choices(prefix: snapshot.label + "/") }
            }
    }
}

extension BundleMetadata.Store {
    fileprivate func choices(prefix: String) -> [StoreChoice] {
        var choices: [StoreChoice] = []
        if let entry {
            choices.append(
                StoreChoice(name: prefix + name, entry: entry, isCommitted: false, store: self))
        }
        if let committedEntry {
            choices.append(
                StoreChoice(
                    name: prefix + name + StoreEntries.committedSuffix, entry: committedEntry,
                    isCommitted: true,
                    store: self))
        }
        return choices
    }
}

extension String {
    /// The text with a space after each 64 regional indicators in a row, which no text has.
    ///
    /// Two of them are a flag, so Swift's searches go back to the start of the run at each of them (rule GB12 of
    /// <https://unicode.org/reports/tr29/>). That takes a time that is quadratic in its length.
    fileprivate var withoutLongRunsOfFlags: String {
        if utf8.allSatisfy({ $0 < 0x80 }) { return self }
        var result = ""
        var run = 0
        for scalar in unicodeScalars {
            run = (0x1F1E6...0x1F1FF).contains(scalar.value) ? run % 64 + 1 : 0
            result.unicodeScalars.append(scalar)
            if run == 64 { result += " " }
        }
        return result
    }
}
