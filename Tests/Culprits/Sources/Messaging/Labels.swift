import Foundation

/// Texts of the list of conversations.
enum Labels {
    /// Describes how long ago a message was sent.
    static func age(of message: Message, at now: Date) -> String {
        let minutes = Int(now.timeIntervalSince(message.sentAt) / 60)
        switch minutes {
        case ..<1: return "just now"
        case ..<60: return "\(minutes) min ago"
        case ..<90: return "1 hour ago"
        default: return "\(minutes / 60) hours ago"
        }
    }

    /// Returns the names of participants in alphabetical order.
    static func names(of people: [Person]) -> String {
        people.map(\.name).sorted().joined(separator: ", ")
    }
}
