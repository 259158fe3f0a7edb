import Foundation
import XCTest

/// The one test that fails in a given state.
final class StateTests: XCTestCase {
    private static let environment = ProcessInfo.processInfo.environment

    /// Writes the table for the checks.
    func testTable() throws {
        let path = try XCTUnwrap(Self.environment["STATES_TABLE"])
        let cases = State.table.flatMap { state in state.settings.map(state.description(in:)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try encoder.encode(cases).write(to: URL(fileURLWithPath: path))
    }

    /// Fails in the state and with the store that `STATES_CASE` names, such as `writeTransaction wal`.
    func testState() throws {
        let words = try XCTUnwrap(Self.environment["STATES_CASE"]).split(separator: " ").map(String.init)
        let state = try XCTUnwrap(State.table.first { $0.name == words[0] })
        let setting = try XCTUnwrap(Setting(rawValue: words[1]))
        let directory = FileManager.default.currentDirectoryPath
        let scenario = try Scenario(
            state.name, setting, directory: directory + "/store",
            log: Observations(path: directory + "/observations.jsonl"))
        try state.body(scenario)
        scenario.finish()
    }
}
