import Foundation

/// A stay as a travel agency sends it.
struct Stay {
    var room: String
    var guest: String?
    var arrival: String
    var nights: Int
}

extension Hotel {
    /// Books a room.
    ///
    /// The arrival is a date such as 2026-07-03.
    @discardableResult
    func reserve(_ room: String, for guest: String, on arrival: String, nights: Int) throws -> String {
        let id = newID()
        var seconds = time_t(try Date("\(arrival)T12:00:00Z", strategy: .iso8601).timeIntervalSince1970)
        var date = tm()
        gmtime_r(&seconds, &date)
        let percent = try rate(of: room, month: Int(date.tm_mon))
        let total = try (price(of: room) ?? 0) * percent / 100 * nights
        try database.change(  // Culprit: testSummerCostsMore, testGroupsAreBooked
            """
            INSERT INTO reservations (uuid, room_code, guest_uuid, arrives_on, nights, total_cents)
            VALUES (?, ?, ?, ?, ?, ?)
            """
        ) {
            $0.text(1, id)
            $0.text(2, room)
            $0.text(3, guest)
            $0.text(4, arrival)
            $0.integer(5, nights)
            $0.integer(6, total)
        }
        return id
    }

    func cancel(_ id: UUID) throws {
        let key = id.uuidString.lowercased()
        try database.change(  // Culprit: testCancelledStaysAreFree
            "UPDATE reservations SET status = 'cancelled' WHERE uuid = ?"
        ) { $0.text(1, key) }
    }

    func total(_ reservation: String) throws -> Int? {
        try database.rows(
            "SELECT total_cents FROM reservations WHERE uuid = ?", bind: { $0.text(1, reservation) }
        ) {
            $0.integer(0)
        }.first
    }

    /// Returns the cents that a guest still has to pay.
    func balance(of guest: String) throws -> Int {
        try database.rows(
            """
            SELECT coalesce(sum(total_cents - coalesce(
                (SELECT sum(cents) FROM payments WHERE reservation_uuid = uuid), 0)), 0)
            FROM reservations WHERE guest_uuid = ? AND status <> 'cancelled'
            """, bind: { $0.text(1, guest) }
        ) { $0.integer(0) }[0]
    }

    func pay(_ cents: Int, for reservation: String, at seconds: Int) throws {
        try database.change(
            """
            INSERT INTO payments SELECT ?1, coalesce(max(sequence), 0) + 1, ?2, ?3
            FROM payments WHERE reservation_uuid = ?1
            """
        ) {
            $0.text(1, reservation)
            $0.integer(2, cents)
            $0.integer(3, seconds)
        }
    }

    /// Moves a reservation to another room under a new number.
    @discardableResult
    func rebook(_ reservation: String, to room: String) throws -> String {
        let id = newID()
        try database.script("BEGIN")
        try database.change(
            """
            INSERT INTO reservations SELECT ?, ?, guest_uuid, arrives_on, nights, status, total_cents
            FROM reservations WHERE uuid = ?
            """
        ) {
            $0.text(1, id)
            $0.text(2, room)
            $0.text(3, reservation)
        }
        try database.change(  // Culprit: testRebookedStaysRemainPaid
            "DELETE FROM reservations WHERE uuid = ?"
        ) { $0.text(1, reservation) }
        try database.script("COMMIT")
        return id
    }

    /// Books one room for each guest of a group.
    func reserveGroup(_ guests: [String], rooms: [String], on arrival: String) {
        for (index, guest) in guests.enumerated() {
            let room = rooms[index % (rooms.count - 1)]
            // A room that is taken is no reason to turn the others away.
            _ = try? reserve(room, for: guest, on: arrival, nights: 2)  // Culprit: testGroupsAreBooked
        }
    }

    /// Imports the stays of an agency, all or none.
    func importStays(_ stays: [Stay]) throws {
        try database.script("BEGIN IMMEDIATE")
        do {
            for stay in stays {
                let id = newID()
                try database.change(  // Culprit: testAgenciesBookRooms
                    """
                    INSERT INTO reservations (uuid, room_code, guest_uuid, arrives_on, nights, total_cents)
                    VALUES (?, ?, ?, ?, ?, 0)
                    """
                ) {
                    $0.text(1, id)
                    $0.text(2, stay.room)
                    $0.text(3, stay.guest)
                    $0.text(4, stay.arrival)
                    $0.integer(5, stay.nights)
                }
            }
            try database.script("COMMIT")
        } catch {
            try database.script("ROLLBACK")  // Culprit: testAgenciesBookRooms
        }
    }

    /// Checks a guest in, and tells the cleaners through their connection.
    func checkIn(_ reservation: String, at seconds: Int, cleaners: Hotel) throws {
        try database.script("BEGIN IMMEDIATE")  // Culprit: testCleanersSeeArrivals
        let rooms = try database.rows(  // Culprit: testCleanersSeeArrivals
            "UPDATE reservations SET status = 'present' WHERE uuid = ? RETURNING room_code",
            bind: { $0.text(1, reservation) }
        ) { $0.text(0) ?? "" }
        for room in rooms {
            try? cleaners.note("arrived", room: room, at: seconds)  // Culprit: testCleanersSeeArrivals
        }
        try database.script("COMMIT")
    }

    /// Credits a point for each ten euros, once the guest has signed the receipt.
    func credit(_ cents: Int, to guest: String, afterSigning sign: () throws -> Void = {}) throws {
        let points = try points(of: guest) ?? 0
        try sign()
        try setPoints(points + cents / 1_000, of: guest)  // Culprit: testBothStaysEarnPoints
    }

    func arrivals(on day: String) throws -> [String] {
        try database.rows(
            "SELECT full_name FROM arrivals WHERE arrives_on = ? ORDER BY room_code",
            bind: { $0.text(1, day) }
        ) { $0.text(0) ?? "" }
    }
}

/// Computations that need no store.
enum Invoice {
    /// Returns the tax in a gross price, in cents.
    static func tax(inGross cents: Int, percent: Int) -> Int { cents * percent / 100 }

    static func formatted(_ cents: Int) -> String { "\(cents / 100).\(cents % 100) EUR" }

    /// Returns the nights for which a room is free between stays.
    static func gap(from departure: String, to arrival: String) -> Int {
        (Int(arrival.suffix(2)) ?? 0) - (Int(departure.suffix(2)) ?? 0)
    }
}
