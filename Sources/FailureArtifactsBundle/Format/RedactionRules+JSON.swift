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
            (try? decoder.decode(Keys.self, from: Data(json)))?.areKnown == true
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
    package var recordText: String {
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

/// The keys of a file, of which ``Form`` and ``ColumnForm`` ignore those that they don't have.
private struct Keys: Decodable {
    private struct Anything: Decodable {
        init(from decoder: any Decoder) {}
    }

    private struct Columns: Decodable {
        let columns: [[String: Anything]]?
    }

    let areKnown: Bool

    init(from decoder: any Decoder) throws {
        let keys = try [String: Anything](from: decoder).keys
        let columns = try Columns(from: decoder).columns ?? []
        areKnown =
            Set(keys).isSubset(of: ["tables", "columns", "attachments", "homePaths", "content", "salt"])
            && columns.allSatisfy { Set($0.keys).isSubset(of: ["table", "column", "method"]) }
    }
}
