package import FailureArtifactsSQLite
package import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The error for a file of redaction rules that can't be used.
package struct RedactionFileError: Error, CustomStringConvertible {
    /// A full sentence.
    package let description: String
    /// The error that occurred while reading the file; nil if the file could be read.
    package let systemError: SystemError?
}

extension RedactionRules {
    /// The environment variable with the path of a file of rules.
    package static let variable = "FAILURE_ARTIFACTS_REDACTIONS"

    /// Reads rules from a JSON file.
    ///
    /// Unknown keys are errors: otherwise a misspelt rule would keep content that was to be left out.
    package init(file path: String) throws(RedactionFileError) {
        let json: [UInt8]
        do {
            json = try FileSystem.contents(ofFile: path, limit: 1 << 20)
        } catch {
            throw RedactionFileError(
                description: "The redactions in '\(path)' cannot be read: \(error.reason).",
                systemError: error)
        }
        guard let rules = Self(json: json) else {
            throw RedactionFileError(
                description:
                    "'\(path)' is not a file of redactions. It must be a JSON object with no other keys than "
                    + "\"tables\", \"columns\", \"attachments\", \"homePaths\", \"content\" and \"salt\", with values "
                    + "as the documentation describes them.",
                systemError: nil)
        }
        self = rules
    }

    /// Parses rules; nil if the bytes are invalid.
    package init?(json: [UInt8]) {
        let decoder = JSONDecoder()
        guard let form = try? decoder.decode(Form.self, from: Data(json)),
            (try? decoder.decode(KnownKeys.self, from: Data(json))) != nil
        else { return nil }
        self.init()
        tables = form.tables ?? []
        columns = (form.columns ?? []).map {
            Column(table: $0.table ?? "*", column: $0.column, method: $0.method)
        }
        attachments = form.attachments ?? []
        shortensHomePaths = form.homePaths == .short
        leavesOutContent = form.content == .leaveOut
        salt = form.salt
    }

    /// The rules on one line, without the salt.
    package var journalText: String {
        let form = Form(
            tables: tables,
            columns: columns.map {
                ColumnForm(table: $0.table, column: $0.column, method: $0.method)
            },
            attachments: attachments, homePaths: shortensHomePaths ? .short : nil,
            content: leavesOutContent ? .leaveOut : nil)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(form)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// The metadata's summary for statements of redacted stores.
    package static let statementSummary = "statements: without values"

    /// The reason for a missing copy if the rules leave out all content.
    package static let reasonForNoContent = "Redactions leave out all content."

    /// The strictest rules, for use if the actual rules are unknown.
    package static var safest: RedactionRules {
        var rules = RedactionRules()
        rules.leavesOutContent = true
        return rules
    }
}

// MARK: The file's form

private struct ColumnForm: Codable {
    var table: String?
    var column: String
    var method: RedactionRules.Method
}

private struct Form: Codable {
    enum HomePaths: String, Codable {
        case absolute, short
    }

    enum Content: String, Codable {
        case keep
        case leaveOut = "leave-out"
    }

    var tables: [String]?
    var columns: [ColumnForm]?
    var attachments: [String]?
    var homePaths: HomePaths?
    var content: Content?
    var salt: String?
}

/// Refuses a file with keys that ``Form`` and ``ColumnForm`` don't have.
private struct KnownKeys: Decodable {
    private struct Key: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let form = try decoder.container(keyedBy: Key.self)
        try Self.check(form, ["tables", "columns", "attachments", "homePaths", "content", "salt"])
        guard var columns = try? form.nestedUnkeyedContainer(forKey: Key(stringValue: "columns")) else {
            return
        }
        while !columns.isAtEnd {
            try Self.check(columns.nestedContainer(keyedBy: Key.self), ["table", "column", "method"])
        }
    }

    private static func check(_ container: KeyedDecodingContainer<Key>, _ known: [String]) throws {
        for key in container.allKeys where !known.contains(key.stringValue) {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: container,
                debugDescription: "The key '\(key.stringValue)' is not known.")
        }
    }
}
