import Foundation
import GRDB
import XCTest

@testable import Messaging

/// Texts and uploads.
final class DisplayTests: MessengerTestCase {
    // Expected: nothing
    func testAgeOfAMessage() throws {
        let messenger = try populated()
        let id = try messenger.post("Anyone awake?", by: chidi, in: climbing, at: minute(-10))
        try messenger.attach("moon.jpg", byteCount: 88_120, to: id)
        try messenger.deleteMessage(8_000)
        try messenger.markRead(climbing, by: ben, upTo: 2)
        let message = try XCTUnwrap(messenger.messages(in: climbing).first { $0.id == id })
        XCTAssertEqual(Labels.age(of: message, at: minute(40)), "50 min ago")
        XCTAssertEqual(Labels.age(of: message, at: minute(102)), "2 hours ago")
    }

    // Expected: nothing
    func testQueuedMessagesAreUploaded() async throws {
        let messenger = try populated()
        try messenger.post("On my way", by: ben, in: climbing, at: minute(95))
        try messenger.post("Traffic", by: ben, in: climbing, at: minute(97))
        try messenger.registerDevice("Ben's phone", of: ben)
        XCTAssertEqual(try messenger.sizeOfCleanup(before: minute(10)), 2)
        try messenger.saveDraft("Almost th", by: ben, in: climbing)

        try await messenger.flush(through: OverloadedServer(status: 503, after: 1))
        XCTAssertEqual(try messenger.unsentMessages().count, 0)
    }

    // Expected: nothing
    func testNamesOfParticipants() throws {
        let messenger = try populated()
        let people = try ["dora": "dora", "emil": "Emil"].sorted { $0.key < $1.key }.map {
            try messenger.addPerson($0.key, name: $0.value)
        }
        let party = try messenger.startConversation("Party", with: [aiko, ben] + people)
        try messenger.post("Saturday at mine", by: aiko, in: party, at: minute(300))
        try messenger.post("Saturday at mine", by: aiko, in: climbing, at: minute(301))
        try messenger.importPeople([("emil", "Emil"), ("ben", "Ben")]) { _ in }
        try messenger.discardDraft(by: aiko, in: party)

        XCTAssertEqual(
            Labels.names(of: try messenger.participants(of: party)), "Aiko, Ben, dora, Emil")
    }
}

/// A server that refuses uploads after a number of them.
private actor OverloadedServer: Server {
    private let status: Int
    private var remaining: Int

    init(status: Int, after count: Int) {
        self.status = status
        remaining = count
    }

    func like(_ externalID: String?) async throws -> Bool { false }

    func upload(_ body: String) async throws -> String {
        guard remaining > 0 else { throw UploadError.refused(status: status) }
        remaining -= 1
        return "srv-3\(body.count)"
    }
}
