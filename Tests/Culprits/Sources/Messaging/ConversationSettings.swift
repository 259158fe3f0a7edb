import Foundation
import GRDB

/// The settings screen of one conversation.
struct ConversationSettings {
    private let messenger: Messenger
    private(set) var conversation: Conversation

    init(_ id: Int64, in messenger: Messenger) throws {
        self.messenger = messenger
        conversation = try messenger.conversation(id)
    }

    mutating func rename(_ title: String) throws {
        var edited = conversation
        try messenger.pool.write { db in
            _ = try edited.updateChanges(db) { $0.title = title }
        }
        conversation = edited
    }

    mutating func mute(_ isMuted: Bool) throws {
        var edited = conversation
        try messenger.pool.write { db in
            _ = try edited.updateChanges(db) { $0.isMuted = isMuted }
        }
        conversation = edited
    }

    mutating func pin(_ isPinned: Bool) throws {
        conversation.isPinned = isPinned
        let edited = conversation
        try messenger.pool.write { db in
            try edited.update(db)  // Culprit: testNewTitleSurvivesPinning
        }
    }
}
