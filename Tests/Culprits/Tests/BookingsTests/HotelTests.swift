import Foundation
import XCTest

@testable import Bookings

final class HotelTests: HotelTestCase {
    // Expected: lines
    func testCancelledStaysAreFree() throws {
        let hotel = try openHotel()
        try hotel.pay(7_000, for: stays[0], at: 1_777_200_000)
        try hotel.cancel(try XCTUnwrap(UUID(uuidString: stays[3])))
        try hotel.note("broken lamp", room: "201", at: 1_777_300_000)
        try hotel.addGuest("Finn Graf", phone: "0761 5521")

        XCTAssertEqual(try hotel.balance(of: guests[0]), 0)
        XCTAssertEqual(try hotel.balance(of: guests[3]), 0)
    }

    // Expected: rooms code=101; rooms code=201; rooms code=202
    func testOneRoomBecomesDearer() throws {
        let hotel = try openHotel()
        try hotel.setPrice(9_200, of: "102")
        try hotel.setFeatures(["wifi", "desk"], of: "102")
        try hotel.reserve("102", for: guests[4], on: "2026-06-20", nights: 2)
        try hotel.note("desk added", room: "102", at: 1_777_400_000)

        XCTAssertEqual(try hotel.price(of: "102"), 9_200)
        XCTAssertEqual(try hotel.price(of: "202"), 19_500)
    }

    // Expected: payments reservation_uuid=C0FFEE00-0000-4000-8000-000000000008 sequence=1
    func testRebookedStaysRemainPaid() throws {
        let hotel = try openHotel()
        try hotel.pay(10_000, for: stays[2], at: 1_777_500_000)
        try hotel.pay(8_500, for: stays[1], at: 1_777_510_000)
        try hotel.rebook(stays[2], to: "202")
        try hotel.addGuest("Finn Graf", phone: "0170 1212")
        try hotel.note("extra bed", room: "202", at: 1_777_600_000)

        XCTAssertEqual(try hotel.balance(of: guests[2]), 35_000)
    }

    // Expected: loyalty guest_uuid=C0FFEE00-0000-4000-8000-000000000002
    func testNewPhoneKeepsThePoints() throws {
        let hotel = try openHotel()
        try hotel.credit(24_000, to: guests[0])
        try hotel.credit(17_000, to: guests[1])
        try hotel.saveGuest(guests[1], name: "Bo Chen", email: "bo@example.com", phone: "0151 2020")
        try hotel.credit(9_000, to: guests[3])
        try hotel.pay(12_000, for: stays[1], at: 1_777_700_000)

        XCTAssertEqual(try XCTUnwrap(hotel.points(of: guests[1])), 17)
    }

    // Expected: reservations uuid=C0FFEE00-0000-4000-8000-00000000000B
    func testSummerCostsMore() throws {
        let hotel = try openHotel()
        try hotel.reserve("202", for: guests[3], on: "2026-07-01", nights: 1)
        let stay = try hotel.reserve("201", for: guests[4], on: "2026-07-03", nights: 3)
        try hotel.reserve("102", for: guests[1], on: "2026-07-04", nights: 2)
        try hotel.pay(4_000, for: stays[3], at: 1_777_800_000)

        XCTAssertEqual(try hotel.total(stay), 58_500)
    }

    // Expected: reservations uuid=C0FFEE00-0000-4000-8000-00000000000A
    func testGroupsAreBooked() throws {
        let hotel = try openHotel()
        hotel.reserveGroup(Array(guests.prefix(3)), rooms: ["101", "102", "201"], on: "2026-09-11")
        try hotel.note("flowers", room: "101", at: 1_777_900_000)
        try hotel.pay(2_500, for: stays[1], at: 1_777_910_000)
        try hotel.setFeatures(["sauna"], of: "202")

        XCTAssertEqual(try hotel.arrivals(on: "2026-09-11"), ["Ada Berg", "Bo Chen", "Carla Diaz"])
    }

    // Expected: reservations uuid=C0FFEE00-0000-4000-8000-00000000000A; reservations uuid=C0FFEE00-0000-4000-8000-00000000000B
    func testAgenciesBookRooms() throws {
        let hotel = try openHotel()
        try hotel.importStays([
            Stay(room: "101", guest: guests[4], arrival: "2026-10-02", nights: 2),
            Stay(room: "202", guest: guests[1], arrival: "2026-10-02", nights: 4),
            Stay(room: "201", guest: nil, arrival: "2026-10-03", nights: 1),
        ])
        try hotel.reserve("102", for: guests[0], on: "2026-10-02", nights: 1)
        try hotel.credit(8_500, to: guests[0])
        try hotel.note("late arrival", room: "102", at: 1_778_000_000)

        XCTAssertEqual(try hotel.arrivals(on: "2026-10-02").count, 3)
    }

    // Expected: loyalty guest_uuid=C0FFEE00-0000-4000-8000-000000000003
    func testBothStaysEarnPoints() throws {
        let hotel = try openHotel()
        let bar = try desk()
        try bar.credit(6_000, to: guests[0])
        try hotel.credit(45_000, to: guests[2]) {
            try bar.credit(11_000, to: guests[2])
            try bar.note("minibar empty", room: "201", at: 1_778_100_000)
        }
        try hotel.pay(45_000, for: stays[2], at: 1_778_110_000)
        try bar.credit(2_000, to: guests[1])

        XCTAssertEqual(try bar.points(of: guests[2]), 56)
    }

    // Expected: lines
    func testCleanersSeeArrivals() throws {
        let hotel = try openHotel()
        let cleaners = try desk()
        try cleaners.note("windows cleaned", room: "101", at: 1_778_200_000)
        try hotel.pay(7_000, for: stays[0], at: 1_778_205_000)
        try hotel.checkIn(stays[0], at: 1_778_210_000, cleaners: cleaners)
        try cleaners.note("lamp replaced", room: "102", at: 1_778_220_000)
        try hotel.credit(12_000, to: guests[0])

        XCTAssertEqual(try cleaners.notes(of: "101"), ["windows cleaned", "arrived"])
    }

    // Expected: nothing
    func testTaxIsPartOfThePrice() throws {
        let hotel = try openHotel()
        try hotel.credit(0, to: guests[4])
        try hotel.cancel(try XCTUnwrap(UUID(uuidString: "7A11C0DE-0000-4000-8000-000000000000")))
        try hotel.database.script("BEGIN; UPDATE rooms SET nightly_cents = 0; ROLLBACK")
        try hotel.pay(7_000, for: stays[0], at: 1_778_300_000)
        try hotel.addGuest("Ada Berg")
        XCTAssertEqual(try hotel.balance(of: guests[0]), 0)
        XCTAssertEqual(Invoice.tax(inGross: 10_700, percent: 7), 700)
    }

    // Expected: nothing
    func testAmountsHaveTwoDecimals() throws {
        let hotel = try openHotel()
        try hotel.addRoom("103", "Attic", beds: 1, nightlyCents: 9_005)
        try hotel.pay(1_500, for: stays[1], at: 1_778_400_000)
        try hotel.pay(1_500, for: stays[1], at: 1_778_400_000)
        try hotel.rebook(stays[3], to: "103")
        try hotel.note("", room: "101", at: 0)
        XCTAssertEqual(Invoice.formatted(try XCTUnwrap(hotel.price(of: "103"))), "90.05 EUR")
    }

    // Expected: nothing
    func testGapsSpanMonths() throws {
        let hotel = try openHotel()
        try hotel.reserve("101", for: guests[4], on: "2026-06-29", nights: 1)
        try hotel.reserve("101", for: guests[3], on: "2026-07-02", nights: 2)
        try hotel.database.script("DELETE FROM housekeeping")
        try hotel.credit(500, to: guests[3])
        XCTAssertEqual(Invoice.gap(from: "2026-06-30", to: "2026-07-02"), 2)
    }
}
