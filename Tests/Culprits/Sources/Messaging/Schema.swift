import Foundation
import GRDB

extension Messenger {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("people") { db in
            try db.create(table: "person") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("handle", .text).notNull().unique()
                table.column("name", .text).notNull()
                table.column("avatarURL", .text)
            }
        }
        migrator.registerMigration("conversations") { db in
            try db.create(table: "conversation") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("title", .text).notNull()
                table.column("isPinned", .boolean).notNull().defaults(to: false)
                table.column("isMuted", .boolean).notNull().defaults(to: false)
                table.column("messageCount", .integer).notNull().defaults(to: 0)
                table.column("lastMessageID", .integer)
            }
            try db.create(table: "participant") { table in
                table.column("conversationID", .integer).notNull()
                    .references("conversation", onDelete: .cascade)
                table.column("personID", .integer).notNull().references("person", onDelete: .cascade)
                table.column("lastReadID", .integer)
                table.primaryKey(["conversationID", "personID"])
            }
        }
        migrator.registerMigration("messages") { db in
            try db.create(table: "message") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("conversationID", .integer).notNull().indexed()
                    .references("conversation", onDelete: .cascade)
                table.column("senderID", .integer).notNull().references("person")
                table.column("body", .text).notNull()
                table.column("sentAt", .datetime).notNull()
                table.column("state", .text).notNull().defaults(to: "queued")
                table.column("likes", .integer).notNull().defaults(to: 0)
                table.column("externalID", .text).unique()
                table.column("replyToID", .integer).references("message", onDelete: .setNull)
            }
            try db.create(table: "attachment") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("messageID", .integer).notNull().references("message", onDelete: .cascade)
                table.column("fileName", .text).notNull()
                table.column("byteCount", .integer).notNull()
            }
        }
        migrator.registerMigration("drafts and devices") { db in
            try db.create(table: "draft") { table in
                table.column("conversationID", .integer).notNull()
                    .references("conversation", onDelete: .cascade)
                table.column("personID", .integer).notNull().references("person", onDelete: .cascade)
                table.column("body", .text).notNull()
                table.primaryKey(["conversationID", "personID"])
            }
            try db.create(table: "device") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("personID", .integer).notNull().references("person", onDelete: .cascade)
                table.column("name", .text).notNull()
                table.column("pushToken", .text)
            }
        }
        migrator.registerMigration("drafts of former participants") { db in
            try db.execute(  // Culprit: testDraftsSurviveLeavingAConversation
                sql: """
                    CREATE TRIGGER participantLeaves AFTER DELETE ON participant BEGIN
                        DELETE FROM draft WHERE personID = OLD.personID;
                    END
                    """)
        }
        return migrator
    }
}
