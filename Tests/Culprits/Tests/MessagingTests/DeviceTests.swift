import Foundation
import Stores
import XCTest

@testable import Messaging

/// Devices of an account.
///
/// Opening a store takes long, so the tests share one. They run in the order of their names, and the first one
/// passes.
final class DeviceTests: XCTestCase {
    private static let shared = Result {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("devices-\(UUID().uuidString).sqlite").path
        let messenger = try Messenger(StoreKind.current.writer(path))
        for handle in ["aiko", "ben", "chidi"] {
            try messenger.addPerson(handle, name: handle.capitalized)
        }
        try messenger.startConversation("Climbing", with: [1, 2, 3])
        try messenger.registerDevice("Ben's phone", of: 2, pushToken: "f00d")
        return messenger
    }

    func testDevicesAreListedInOrder() throws {
        let messenger = try Self.shared.get()
        try messenger.registerDevice("Phone", of: 1, pushToken: "cafe")  // Culprit: testDevicesWithToken
        try messenger.registerDevice("Laptop", of: 1)
        XCTAssertEqual(try messenger.devices(of: 1).map(\.name), ["Phone", "Laptop"])
    }

    // Expected: device id=2
    func testDevicesWithToken() throws {
        let messenger = try Self.shared.get()
        let start = Date(timeIntervalSince1970: 1_772_442_000)
        for (index, body) in ["Hi", "Rope?", "Yes", "Shoes?", "Yes", "Chalk?"].enumerated() {
            let sender = Int64(index % 3 + 1)
            let date = start.addingTimeInterval(Double(index))
            let id = try messenger.post(body, by: sender, in: 1, at: date)
            try messenger.markSent(id, externalID: "srv-\(index)")
        }
        try messenger.registerDevice("Aiko's tablet", of: 1, pushToken: "beef")
        try messenger.saveDraft("No", by: 2, in: 1)

        let notified = try messenger.participants(of: 1).flatMap { person in
            try messenger.devices(of: person.id ?? 0).filter { $0.pushToken != nil }
        }
        XCTAssertEqual(notified.count, 2)
    }
}
