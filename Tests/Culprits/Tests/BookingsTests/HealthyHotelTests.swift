import Foundation
import XCTest

@testable import Bookings

/// Tests of healthy stores whose statements look unusual.
final class HealthyHotelTests: HotelTestCase {
    // Expected: nothing
    func testDesksWaitForEachOther() throws {
        let hotel = try openHotel()
        let nightly = "UPDATE rooms SET nightly_cents = nightly_cents * 2"
        try hotel.database.script("BEGIN; \(nightly); ROLLBACK")
        let desks = try [desk(), desk()].map(\.database)
        for desk in desks { try desk.script("PRAGMA busy_timeout = 10000") }
        nonisolated(unsafe) let databases = desks
        nonisolated(unsafe) var failures = [0, 0]
        let group = DispatchGroup()
        for index in 0..<2 {
            DispatchQueue(label: "desk \(index)").async(group: group) {
                for number in 1...40 {
                    do {
                        try databases[index].script("BEGIN IMMEDIATE")
                        try databases[index].script(
                            "INSERT INTO housekeeping (room_code, note, noted_at) "
                                + "VALUES ('101', 'desk \(index) note \(number)', \(number))")
                        try databases[index].script(number % 9 == 0 ? "ROLLBACK" : "COMMIT")
                    } catch {
                        failures[index] += 1
                    }
                }
            }
        }
        group.wait()
        XCTAssertEqual(failures, [0, 0])
        XCTAssertEqual(Invoice.tax(inGross: 10_700, percent: 7), 700)
    }
}
