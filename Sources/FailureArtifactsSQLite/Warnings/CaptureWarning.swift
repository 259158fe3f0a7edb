/// A problem of a capture: a sentence for people, and a code with parameters for programs.
///
/// The JSON form is an object with the keys `code` and `text` and a key for each parameter. Bundles of format 1.0 have
/// the sentence alone.
package struct CaptureWarning: Hashable, Sendable {
    /// The kinds of problems, as the bundle names them.
    package enum Code: String, CaseIterable, Sendable {
        // Stores
        case storeNotCopied = "store-not-copied"
        case storeFileReplaced = "store-file-replaced"
        case filesNotKept = "files-not-kept"
        case externalFilesLeftOut = "external-files-left-out"
        case memoryStoresLost = "memory-stores-lost"
        case statementsNotKept = "statements-not-kept"

        // The content of a copy
        case uncommittedChangesMissing = "uncommitted-changes-missing"
        case otherWriter = "other-writer"
        case halfTransaction = "half-transaction"
        case changedWhileCopied = "changed-while-copied"
        case copyUnreadable = "copy-unreadable"
        case walDamaged = "wal-damaged"
        case rawFilesNotKept = "raw-files-not-kept"
        case temporaryTriggersMissing = "temporary-triggers-missing"

        // Further copies
        case committedStateNotCopied = "committed-state-not-copied"
        case stateBeforeRollbackNotKept = "state-before-rollback-not-kept"
        case stateAfterRollbackNotCopied = "state-after-rollback-not-copied"
        case earlierCaptureLost = "earlier-capture-lost"

        // Redaction
        case virtualTableDropped = "virtual-table-dropped"
        case uniqueValuesHashed = "unique-values-hashed"
        case removedValueRemains = "removed-value-remains"

        // The bundle
        case failuresLeftOut = "failures-left-out"
        case attachmentLeftOut = "attachment-left-out"
        case attachmentNotKept = "attachment-not-kept"
        case contentMissing = "content-missing"
        case contentNotPacked = "content-not-packed"
    }

    /// A fact that the sentence names, too.
    package enum Parameter: Hashable, Sendable {
        case text(String)
        case number(Int64)
    }

    /// The kind of problem; nil in a bundle of format 1.0.
    ///
    /// Later versions may write codes that ``Code`` does not have.
    package let code: String?
    /// A full sentence or two: the problem and its cause.
    package private(set) var text: String
    /// The facts by their names, such as `store` or `path`.
    package private(set) var parameters: [String: Parameter]

    /// Creates a warning; parameters that are nil are left out.
    package init(
        _ code: Code, _ text: String, path: String? = nil, _ parameters: [String: Parameter?] = [:]
    ) {
        self.code = code.rawValue
        self.text = text
        self.parameters = parameters.compactMapValues(\.self)
        if let path { self.parameters["path"] = .text(path) }
    }

    /// Returns the warning that the bundle has only a description of a store.
    package static func storeNotCopied(
        _ name: String, because reason: String, limit: String? = nil
    ) -> CaptureWarning {
        CaptureWarning(
            .storeNotCopied, "The store '\(name)' was not copied. \(reason)",
            ["store": .text(name), "limit": limit.map { .text($0) }])
    }

    /// Returns true if the problem is of that kind.
    package func `is`(_ code: Code) -> Bool { self.code == code.rawValue }

    /// Returns the warning with its sentence and the texts of its parameters changed.
    package func mapTexts(_ transform: (String) -> String) -> CaptureWarning {
        var result = self
        result.text = transform(text)
        result.parameters = parameters.mapValues { parameter in
            guard case .text(let text) = parameter else { return parameter }
            return .text(transform(text))
        }
        return result
    }
}

extension [CaptureWarning] {
    /// Adds a warning; see ``CaptureWarning/init(_:_:path:_:)``.
    package mutating func add(
        _ code: CaptureWarning.Code, _ text: String, path: String? = nil,
        _ parameters: [String: CaptureWarning.Parameter?] = [:]
    ) {
        append(CaptureWarning(code, text, path: path, parameters))
    }
}

extension CaptureWarning: Codable {
    private struct Key: CodingKey {
        static let code = Key(stringValue: "code")
        static let text = Key(stringValue: "text")

        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads a warning, and the sentence that format 1.0 has in its place.
    ///
    /// Parameters that are neither texts nor integers are ignored.
    package init(from decoder: any Decoder) throws {
        if let sentence = try? decoder.singleValueContainer().decode(String.self) {
            (code, text, parameters) = (nil, sentence, [:])
            return
        }
        let container = try decoder.container(keyedBy: Key.self)
        code = try container.decodeIfPresent(String.self, forKey: .code)
        text = try container.decode(String.self, forKey: .text)
        parameters = [:]
        for key in container.allKeys where !["code", "text"].contains(key.stringValue) {
            if let text = try? container.decode(String.self, forKey: key) {
                parameters[key.stringValue] = .text(text)
            } else if let number = try? container.decode(Int64.self, forKey: key) {
                parameters[key.stringValue] = .number(number)
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        guard let code else {
            var container = encoder.singleValueContainer()
            return try container.encode(text)
        }
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(code, forKey: .code)
        try container.encode(text, forKey: .text)
        for (name, parameter) in parameters {
            switch parameter {
            case .text(let text): try container.encode(text, forKey: Key(stringValue: name))
            case .number(let number): try container.encode(number, forKey: Key(stringValue: name))
            }
        }
    }
}
