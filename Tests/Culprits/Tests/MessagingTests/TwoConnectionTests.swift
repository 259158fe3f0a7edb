import Foundation
import GRDB
import XCTest

@testable import Messaging

/// The app, its extensions and a second device, at work at the same time.
final class TwoConnectionTests: MessengerTestCase {
    // Expected: conversation id=1
    func testNewTitleSurvivesPinning() throws {
        let app = try populated()
        let widget = try open()
        var screen = try ConversationSettings(climbing, in: app)
        try app.attach("topo.pdf", byteCount: 182_034, to: 5)

        var shortcut = try ConversationSettings(climbing, in: widget)
        try shortcut.mute(true)
        try shortcut.rename("Climbing on Saturday")
        try widget.saveDraft("What time do we", by: ben, in: rent)
        try app.post("The weather looks fine", by: chidi, in: rent, at: minute(90))
        try screen.pin(true)
        try app.discardDraft(by: chidi, in: climbing)
        try app.markRead(rent, by: aiko, upTo: 8)

        let conversation = try app.conversation(climbing)
        XCTAssertTrue(conversation.isPinned)
        XCTAssertEqual(conversation.title, "Climbing on Saturday")
    }

    // Expected: message id=5
    func testLikesOfTwoDevices() async throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let phone = try populated(configuration)
        let tablet = try open(configuration)
        let server = RendezvousServer(parties: 1)
        try await phone.like(3, through: server)
        try await tablet.like(5, through: server)
        try phone.saveDraft("Where do", by: ben, in: climbing)

        let busyServer = RendezvousServer(parties: 2)
        async let first: Void = phone.like(5, through: busyServer)
        async let second: Void = tablet.like(5, through: busyServer)
        _ = try await (first, second)
        try phone.markRead(climbing, by: aiko, upTo: 9)
        try tablet.post("Nice rope", by: chidi, in: climbing, at: minute(120))
        try tablet.discardDraft(by: chidi, in: climbing)

        let likes = try phone.messages(in: climbing).map(\.likes).reduce(0, +)
        XCTAssertEqual(likes, 4)
    }

    // Expected: lines
    func testAcknowledgementDuringImport() throws {
        let app = try populated()
        let notifications = NotificationExtension(messenger: try open())
        XCTAssertTrue(notifications.acknowledge(1))
        try app.importPeople([("dora", "Dora"), ("emil", "Emil")]) { _ in }
        XCTAssertTrue(notifications.acknowledge(2))
        try app.startConversation("Moving house", with: [ben, chidi])

        let addressBook = (1...40).map { (handle: "contact\($0)", name: "Contact \($0)") }
        try app.importPeople(addressBook) { count in
            guard count == 25 else { return }
            XCTAssertTrue(notifications.acknowledge(9))
        }
        try app.post("Who has boxes?", by: ben, in: 3, at: minute(200))
    }

    // Expected: message id=32; message id=33
    func testArchiveIsImported() throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let app = try populated(configuration)
        try app.receivePush(remote(900, "Is this the new group?", in: rent))
        try app.registerDevice("Ben's phone", of: ben, pushToken: "f00dfeed")

        let archive = ArchiveImport(into: app)
        for number in 1...22 {
            try archive.add(remote(number, "Archived message \(number)", in: climbing))
        }

        XCTAssertEqual(try app.messages(in: climbing).count, 29)
        XCTAssertEqual(try app.messages(in: rent).count, 4)
    }

    private func remote(_ number: Int, _ body: String, in conversation: Int64) -> RemoteMessage {
        RemoteMessage(
            externalID: "old-\(number)", conversationID: conversation, senderID: ben, body: body,
            sentAt: minute(-5_000 + number))
    }
}

/// A server that answers when a number of requests have arrived.
private actor RendezvousServer: Server {
    private var missing: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(parties: Int) {
        missing = parties
    }

    func like(_ externalID: String?) async throws -> Bool {
        missing -= 1
        guard missing > 0 else {
            waiting.forEach { $0.resume() }
            return externalID != nil
        }
        await withCheckedContinuation { waiting.append($0) }
        return externalID != nil
    }

    func upload(_ body: String) async throws -> String { "srv-\(body.count)" }
}
