import Foundation

/// The rooms, rates and guests of a hotel.
final class Hotel {
    let database: Database
    private let makeID: () -> String

    init(path: String, journal: String = "wal", makeID: @escaping () -> String) throws {
        self.makeID = makeID
        database = try Database(path: path)
        try database.script("PRAGMA journal_mode = \(journal); PRAGMA foreign_keys = on")
        try database.script(Self.schema)
    }

    private static let schema = """
        CREATE TABLE IF NOT EXISTS rooms (
            code TEXT PRIMARY KEY, name TEXT NOT NULL, beds INTEGER NOT NULL,
            nightly_cents INTEGER NOT NULL, features TEXT NOT NULL DEFAULT '[]') WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS season_rates (
            room_code TEXT NOT NULL REFERENCES rooms (code) ON DELETE CASCADE, month INTEGER NOT NULL,
            percent INTEGER NOT NULL, PRIMARY KEY (room_code, month)) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS guests (
            uuid TEXT PRIMARY KEY, full_name TEXT NOT NULL, email TEXT, phone TEXT, deleted_at TEXT);
        CREATE TABLE IF NOT EXISTS loyalty (guest_uuid TEXT PRIMARY KEY, points INTEGER NOT NULL);
        CREATE TABLE IF NOT EXISTS reservations (
            uuid TEXT PRIMARY KEY, room_code TEXT NOT NULL REFERENCES rooms (code),
            guest_uuid TEXT NOT NULL REFERENCES guests (uuid), arrives_on TEXT NOT NULL,
            nights INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'booked', total_cents INTEGER NOT NULL,
            UNIQUE (room_code, arrives_on));
        CREATE TABLE IF NOT EXISTS payments (
            reservation_uuid TEXT NOT NULL, sequence INTEGER NOT NULL, cents INTEGER NOT NULL,
            paid_at INTEGER NOT NULL, PRIMARY KEY (reservation_uuid, sequence)) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS housekeeping (
            id INTEGER PRIMARY KEY, room_code TEXT NOT NULL, note TEXT NOT NULL, noted_at INTEGER NOT NULL);
        CREATE VIEW IF NOT EXISTS arrivals AS
            SELECT arrives_on, room_code, full_name FROM reservations
            JOIN guests ON guests.uuid = guest_uuid WHERE status = 'booked';
        CREATE TRIGGER IF NOT EXISTS forget_guest AFTER UPDATE OF deleted_at ON guests BEGIN
            DELETE FROM loyalty WHERE guest_uuid = NEW.uuid;
        END;
        """

    func addRoom(_ code: String, _ name: String, beds: Int, nightlyCents: Int) throws {
        try database.change("INSERT INTO rooms (code, name, beds, nightly_cents) VALUES (?, ?, ?, ?)") {
            $0.text(1, code)
            $0.text(2, name)
            $0.integer(3, beds)
            $0.integer(4, nightlyCents)
        }
    }

    func setFeatures(_ features: [String], of room: String) throws {
        let json = String(decoding: try JSONEncoder().encode(features), as: UTF8.self)
        try database.change("UPDATE rooms SET features = ? WHERE code = ?") {
            $0.text(1, json)
            $0.text(2, room)
        }
    }

    /// Sets the price of a night in a room.
    func setPrice(_ cents: Int, of room: String) throws {
        try database.change(  // Culprit: testOneRoomBecomesDearer
            "UPDATE rooms SET nightly_cents = :cents WHERE code = code"
        ) {
            $0.integer(1, cents)
        }
    }

    func price(of room: String) throws -> Int? {
        try database.rows("SELECT nightly_cents FROM rooms WHERE code = ?", bind: { $0.text(1, room) }) {
            $0.integer(0)
        }.first
    }

    func setRate(_ percent: Int, of room: String, month: Int) throws {
        try database.change("INSERT INTO season_rates VALUES (?, ?, ?)") {
            $0.text(1, room)
            $0.integer(2, month)
            $0.integer(3, percent)
        }
    }

    /// Returns the season's percentage of the price, 100 if there is no rate.
    func rate(of room: String, month: Int) throws -> Int {
        try database.rows(
            "SELECT percent FROM season_rates WHERE room_code = ? AND month = ?",
            bind: {
                $0.text(1, room)
                $0.integer(2, month)
            }
        ) { $0.integer(0) }.first ?? 100
    }

    @discardableResult
    func addGuest(_ name: String, email: String? = nil, phone: String? = nil) throws -> String {
        let id = makeID()
        try database.change("INSERT INTO guests (uuid, full_name, email, phone) VALUES (?, ?, ?, ?)") {
            $0.text(1, id)
            $0.text(2, name)
            $0.text(3, email)
            $0.text(4, phone)
        }
        try database.change("INSERT INTO loyalty VALUES (?, 0)") { $0.text(1, id) }
        return id
    }

    /// Saves all fields of a guest's form.
    func saveGuest(_ id: String, name: String, email: String?, phone: String?) throws {
        try database.change(  // Culprit: testNewPhoneKeepsThePoints
            "UPDATE guests SET full_name = ?, email = ?, phone = ?, deleted_at = NULL WHERE uuid = ?"
        ) {
            $0.text(1, name)
            $0.text(2, email)
            $0.text(3, phone)
            $0.text(4, id)
        }
    }

    func points(of guest: String) throws -> Int? {
        try database.rows("SELECT points FROM loyalty WHERE guest_uuid = ?", bind: { $0.text(1, guest) })
        {
            $0.integer(0)
        }.first
    }

    func setPoints(_ points: Int, of guest: String) throws {
        try database.change(  // Culprit: testBothStaysEarnPoints
            "UPDATE loyalty SET points = ? WHERE guest_uuid = ?"
        ) {
            $0.integer(1, points)
            $0.text(2, guest)
        }
    }

    func note(_ note: String, room: String, at seconds: Int) throws {
        try database.change(  // Culprit: testCleanersSeeArrivals
            "INSERT INTO housekeeping (room_code, note, noted_at) VALUES (?, ?, ?)"
        ) {
            $0.text(1, room)
            $0.text(2, note)
            $0.integer(3, seconds)
        }
    }

    func notes(of room: String) throws -> [String] {
        try database.rows(
            "SELECT note FROM housekeeping WHERE room_code = ? ORDER BY noted_at",
            bind: { $0.text(1, room) }
        ) { $0.text(0) ?? "" }
    }

    func newID() -> String { makeID() }
}
