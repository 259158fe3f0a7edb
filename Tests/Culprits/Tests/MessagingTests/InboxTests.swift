import Foundation
import GRDB
import XCTest

@testable import Messaging

/// Sending, receiving and deleting messages.
final class InboxTests: MessengerTestCase {
    // Expected: message id=12; message id=13; message id=5
    func testBacklogIsComplete() throws {
        let messenger = try populated()
        try messenger.receivePush(remote("srv-200", "Did you see the forecast?", after: 80))
        try messenger.markRead(climbing, by: chidi, upTo: 10)
        try messenger.saveDraft("Not y", by: aiko, in: climbing)

        messenger.receiveBacklog([
            remote("srv-201", "Rain from noon", after: 81),
            remote("srv-202", "Then we start at six", after: 83),
            remote("srv-104", "I bring the rope", after: 28),
            remote("srv-203", "Too early for me", after: 90),
        ])
        try messenger.attach("forecast.png", byteCount: 48_211, to: 11)
        try messenger.addPerson("dora", name: "Dora")
        try messenger.discardDraft(by: aiko, in: climbing)

        XCTAssertEqual(try messenger.messages(in: climbing).count, 11)
    }

    // Expected: conversation id=1; message id=10
    func testPreviewAfterDeletingTheLastMessage() throws {
        let messenger = try populated()
        try messenger.attach("eight.ics", byteCount: 912, to: 10)
        try messenger.markRead(climbing, by: aiko, upTo: 10)
        try messenger.deleteMessage(7)
        try messenger.registerDevice("Aiko's laptop", of: aiko)

        try messenger.deleteMessage(10)
        try messenger.saveDraft("I meant nine", by: aiko, in: climbing)
        try messenger.markRead(rent, by: ben, upTo: 8)
        try messenger.addPerson("emil", name: "Emil", avatarURL: "https://example.com/a/9.png")

        XCTAssertEqual(try messenger.preview(of: rent), "Only the parking space")
        XCTAssertEqual(try messenger.preview(of: climbing), "Then I bring breakfast")
    }

    // Expected: message id=4; message id=11; message id=12; message id=13
    func testUnsentMessagesStayQueued() throws {
        let messenger = try populated()
        try messenger.markDelivered(in: try messenger.startConversation("Empty", with: [ben]))
        try messenger.post("Written in the train", by: aiko, in: rent, at: minute(100))
        try messenger.post("Still in the tunnel", by: aiko, in: rent, at: minute(101))
        try messenger.post("Hello?", by: aiko, in: climbing, at: minute(103))
        try messenger.attach("tunnel.jpg", byteCount: 310_882, to: 12)

        try messenger.markDelivered(in: climbing)
        try messenger.markRead(climbing, by: ben, upTo: 9)
        try messenger.saveDraft("Were you", by: ben, in: rent)
        try messenger.discardDraft(by: ben, in: rent)

        XCTAssertEqual(try messenger.unsentMessages().count, 3)
    }

    // Expected: draft conversationID=1 personID=2; draft conversationID=3 personID=2
    func testDraftsSurviveLeavingAConversation() throws {
        let messenger = try populated()
        let party = try messenger.startConversation("Party", with: [ben, chidi])
        try messenger.saveDraft("Can we move it to", by: ben, in: climbing)
        try messenger.saveDraft("I'll pay on", by: ben, in: rent)
        try messenger.saveDraft("Who brings", by: ben, in: party)
        try messenger.leave(climbing, chidi)
        try messenger.post("Where is Chidi?", by: aiko, in: climbing, at: minute(99))

        try messenger.leave(rent, ben)
        try messenger.post("Ben?", by: aiko, in: rent, at: minute(102))
        try messenger.markRead(party, by: chidi, upTo: 3)
        try messenger.registerDevice("Chidi's phone", of: chidi)

        XCTAssertEqual(try messenger.drafts(of: ben), ["Can we move it to", "Who brings"])
    }

    // Expected: person id=3
    func testAvatarIsReplaced() throws {
        let messenger = try populated()
        try messenger.setAvatar("https://example.com/a/5.png", of: "ben")
        try messenger.post("New pictures, @chidi!", by: ben, in: climbing, at: minute(104))
        try messenger.setAvatar("https://example.com/a/6.png", of: "@chidi")
        try messenger.post("Nice", by: aiko, in: climbing, at: minute(105))
        try messenger.saveDraft("Thank", by: chidi, in: climbing)
        try messenger.discardDraft(by: chidi, in: climbing)

        XCTAssertEqual(try messenger.person(ben).avatarURL, "https://example.com/a/5.png")
        XCTAssertNotNil(try messenger.person(chidi).avatarURL)
    }

    private func remote(_ externalID: String, _ body: String, after minutes: Int) -> RemoteMessage {
        RemoteMessage(
            externalID: externalID, conversationID: climbing, senderID: chidi, body: body,
            sentAt: minute(minutes))
    }
}
