internal import CFailureArtifactsRecorder
internal import FailureArtifactsSystem

/// A buffer of journal lines: the writing side of ``JournalRecord``.
///
/// Not thread-safe. If there is no memory for a line, the lines since the last ``clear()`` can't be used.
final class JournalLines {
    // Nil if there was no memory.
    private let lines: UnsafeMutablePointer<failure_artifacts_lines>?

    init() { lines = failure_artifacts_lines_create() }

    deinit { failure_artifacts_lines_free(lines) }

    /// Removes all lines.
    func clear() {
        if let lines { failure_artifacts_lines_clear(lines) }
    }

    /// Adds the line of a record.
    func add(_ record: JournalRecord) {
        switch record {
        case .process(let environment):
            begin("P")
            add(environment.operatingSystem)
            add(environment.architecture)
            add(environment.swift)
            add(environment.sqlite)
            addNumber(Int64(environment.processID))
            if let ci = environment.ci {
                add(ci.service)
                for (name, value) in ci.variables.sorted(by: { $0.key < $1.key }) {
                    add(name)
                    add(value)
                }
            }
            end()
        case .run(let identifier):
            begin("N")
            add(identifier)
            end()
        case .file(let identity):
            begin("F")
            add(String(identity.device))
            add(String(identity.inode))
            end()
        case .redactions(let rules):
            begin("R")
            add(rules)
            end()
        case .images(let images):
            begin("I")
            add(images)
            end()
        case .began(let id, let test, let date, let order):
            addBegan(InFlightJournal.Test(id: id, identity: test, start: date, order: order))
        case .opened(let path, let id):
            guard let path else { return addOpened(nil, by: id) }
            path.withCString { addOpened($0, by: id) }
        case .used(let path, let id, let opener):
            begin("U")
            addID(id)
            add(opener?.suite ?? "")
            add(opener?.name ?? "")
            if let path { add(path) }
            end()
        case .ended(let id):
            begin("E")
            addID(id)
            end()
        }
    }

    /// Adds the line of ``JournalRecord/began(_:_:at:after:)``.
    func addBegan(_ test: InFlightJournal.Test) {
        guard let lines else { return }
        failure_artifacts_line_begins_test(
            lines, test.id, test.start.seconds, Int64(test.start.milliseconds))
        addID(test.order)
        // Fields are added one at a time: otherwise a debug build copies the whole identity.
        add(test.identity.framework)
        add(test.identity.suite)
        add(test.identity.name)
        addNumber(Int64(test.identity.attempt))
        if let arguments = test.identity.arguments {
            // The mark distinguishes an empty list of arguments from a test that isn't parameterised.
            add("(")
            for argument in arguments { add(argument) }
        }
        end()
    }

    /// Adds the line of ``JournalRecord/opened(path:by:)``.
    func addOpened(_ path: UnsafePointer<CChar>?, by id: JournalRecord.TestID) {
        if let lines { failure_artifacts_lines_add_opened(lines, path, id) }
    }

    /// The lines, valid until more are added; nil if something is missing.
    var bytes: UnsafeRawBufferPointer? {
        guard let lines, !lines.pointee.is_incomplete else { return nil }
        return UnsafeRawBufferPointer(start: lines.pointee.bytes, count: lines.pointee.length)
    }

    // MARK: Parts of a line

    private func begin(_ letter: Unicode.Scalar) {
        if let lines { failure_artifacts_line_begins(lines, CChar(truncatingIfNeeded: letter.value)) }
    }

    private func add(_ field: String) {
        guard let lines else { return }
        var field = field
        field.withUTF8 { failure_artifacts_line_add(lines, $0.baseAddress, $0.count) }
    }

    private func addNumber(_ number: Int64) {
        if let lines { failure_artifacts_line_add_number(lines, number) }
    }

    private func addID(_ id: JournalRecord.TestID) {
        if let lines { failure_artifacts_line_add_id(lines, id) }
    }

    private func end() {
        if let lines { failure_artifacts_line_ends(lines) }
    }
}
