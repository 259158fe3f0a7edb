import Foundation
import GRDB
import Stores

@testable import Messaging

/// A messenger with three people, two conversations and a dozen messages.
class MessengerTestCase: StoreTestCase {
    private(set) var aiko: Int64 = 0
    private(set) var ben: Int64 = 0
    private(set) var chidi: Int64 = 0
    /// A conversation of all three.
    private(set) var climbing: Int64 = 0
    /// A conversation of Aiko and Ben.
    private(set) var rent: Int64 = 0

    /// Opens the store that the processes of one device share.
    func open(_ configuration: Configuration = Configuration()) throws -> Messenger {
        try Messenger(StoreKind.current.writer(path("messages.sqlite"), configuration: configuration))
    }

    /// Opens the store and fills it.
    func populated(_ configuration: Configuration = Configuration()) throws -> Messenger {
        let messenger = try open(configuration)
        aiko = try messenger.addPerson("aiko", name: "Aiko", avatarURL: "https://example.com/a/1.png")
        ben = try messenger.addPerson("ben", name: "Ben", avatarURL: "https://example.com/a/2.png")
        chidi = try messenger.addPerson("chidi", name: "Chidi")
        climbing = try messenger.startConversation("Climbing", with: [aiko, ben, chidi])
        rent = try messenger.startConversation("Rent", with: [aiko, ben])
        let talk = [
            (aiko, climbing, "Who is in for Saturday?"), (ben, climbing, "I am"),
            (chidi, climbing, "Me too, if it doesn't rain"), (ben, rent, "The landlord wrote again"),
            (aiko, climbing, "I bring the rope"), (chidi, climbing, "And I the car"),
            (aiko, rent, "Another raise?"), (ben, rent, "Only the parking space"),
            (ben, climbing, "Then I bring breakfast"), (aiko, climbing, "See you at eight"),
        ]
        for (index, (sender, conversation, body)) in talk.enumerated() {
            let id = try messenger.post(body, by: sender, in: conversation, at: minute(index * 7))
            try messenger.markSent(id, externalID: "srv-\(100 + index)")
        }
        try messenger.saveDraft("Which gym, actu", by: chidi, in: climbing)
        try messenger.markRead(climbing, by: ben, upTo: 6)
        return messenger
    }

    /// A number of minutes after nine o'clock on 2 March 2026.
    func minute(_ minutes: Int) -> Date {
        Date(timeIntervalSince1970: 1_772_442_000 + Double(minutes * 60))
    }
}
