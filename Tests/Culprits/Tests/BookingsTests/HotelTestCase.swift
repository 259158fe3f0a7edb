import FailureArtifacts
import Foundation
import Stores
import XCTest

@testable import Bookings

/// A hotel with four rooms and some guests, for which identifiers are consecutive.
class HotelTestCase: XCTestCase {
    private(set) var path = ""
    private var lastNumber = 0
    private var opened: [Hotel] = []
    var guests: [String] = []
    var stays: [String] = []

    override func setUpWithError() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "hotel-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        path = directory.appendingPathComponent("hotel.db").path
        if let reason = try StoreKind.current.reasonToSkip(name) { throw XCTSkip(reason) }
    }

    /// Opens the hotel's store as one more desk.
    func desk() throws -> Hotel {
        let kind = StoreKind.current
        let hotel = try Hotel(path: kind.path(path), journal: kind.journalMode) { [unowned self] in
            lastNumber += 1
            return String(format: "C0FFEE00-0000-4000-8000-%012X", lastNumber)
        }
        opened.append(hotel)
        return hotel
    }

    /// Opens a new store and fills it: guests 1 to 5, reservations 6 to 9.
    func openHotel() throws -> Hotel {
        let hotel = try desk()
        try hotel.addRoom("101", "Garden", beds: 2, nightlyCents: 12_000)
        try hotel.addRoom("102", "Court", beds: 1, nightlyCents: 8_500)
        try hotel.addRoom("201", "Lake", beds: 2, nightlyCents: 15_000)
        try hotel.addRoom("202", "Tower", beds: 3, nightlyCents: 19_500)
        try hotel.setRate(80, of: "101", month: 1)
        try hotel.setRate(80, of: "201", month: 2)
        try hotel.setRate(130, of: "201", month: 7)
        try hotel.setRate(120, of: "101", month: 8)
        try hotel.setFeatures(["wifi", "balcony"], of: "201")
        for name in ["Ada Berg", "Bo Chen", "Carla Diaz", "Dev Engel", "Eva Frisch"] {
            guests.append(try hotel.addGuest(name, email: "\(name.prefix(2).lowercased())@example.com"))
        }
        let rooms = ["101", "102", "201", "202"]
        for (index, room) in rooms.enumerated() {
            stays.append(
                try hotel.reserve(room, for: guests[index], on: "2026-05-1\(index)", nights: index + 1))
        }
        try hotel.pay(5_000, for: stays[0], at: 1_777_000_000)
        try hotel.note("new towels", room: "202", at: 1_777_100_000)
        return hotel
    }
}
