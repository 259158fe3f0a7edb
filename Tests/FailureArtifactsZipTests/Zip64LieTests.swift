import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

/// ZIP64 records with one lie each.
@Suite struct Zip64LieTests {
    typealias Lie = HostileArchiveTests.Lie

    private static let multiDisk = ZipError.Reason.unsupported("several parts (a multi-disk archive)")
    private static let outside = ZipError.Reason.inconsistent(
        "the ZIP64 locator points outside the archive")
    private static let notThere = ZipError.Reason.inconsistent(
        "there is no ZIP64 end record where the locator says it is")
    private static let wrongEnd = ZipError.Reason.inconsistent(
        "the ZIP64 end record does not end where its locator starts")
    private static let impossible = ZipError.Reason.inconsistent(
        "the length of the ZIP64 end record is impossible")
    private static let beyond = ZipError.Reason.inconsistent(
        "the central directory reaches beyond the end record")
    private static let contradiction = ZipError.Reason.inconsistent(
        "its two end records contradict each other")

    /// Offsets are from the end record: the locator is 20 bytes before it, the ZIP64 end record 76.
    static let lies: [Lie] = [
        Lie("locator: disk", multiDisk) { $0.set32($0.end - 16, 1) },
        Lie("locator: disks", multiDisk) { $0.set32($0.end - 4, 2) },
        Lie("locator: offset past itself", outside) { $0.set64($0.end - 12, UInt64($0.end)) },
        Lie("locator: greatest offset", outside) { $0.set64($0.end - 12, .max) },
        Lie("locator: offset too small", notThere) { $0.set64($0.end - 12, 0) },
        Lie("record: signature", notThere) { $0.bytes[$0.end - 76] = 0 },
        Lie("record: length too small", impossible) { $0.set64($0.end - 72, 43) },
        Lie("record: length overflows", impossible) { $0.set64($0.end - 72, .max) },
        Lie("record: length too large", wrongEnd) { $0.set64($0.end - 72, 45) },
        Lie("record: disk", multiDisk) { $0.set32($0.end - 60, 1) },
        Lie("record: directory's disk", multiDisk) { $0.set32($0.end - 56, 1) },
        Lie("record: entries on disk", multiDisk) { $0.set64($0.end - 52, 1) },
        Lie("record: a great count", .tooLarge(limit: 100_000)) {
            $0.set64($0.end - 52, 1_000_001)
            $0.set64($0.end - 44, 1_000_001)
        },
        Lie("record: the greatest count", .tooLarge(limit: 100_000)) {
            $0.set64($0.end - 52, .max)
            $0.set64($0.end - 44, .max)
        },
        Lie(
            "record: too many for the directory",
            .inconsistent("the central directory is too small for the number of entries")
        ) {
            $0.set64($0.end - 52, 99_999)
            $0.set64($0.end - 44, 99_999)
        },
        Lie("record: greatest size", beyond) { $0.set64($0.end - 36, .max) },
        Lie("record: greatest offset", beyond) { $0.set64($0.end - 28, .max) },
        Lie("record: size and offset overflow to the truth", beyond) {
            $0.set64($0.end - 36, .max)
            $0.set64($0.end - 28, UInt64($0.end - 76) + 1)
        },
        Lie("other record: count", contradiction) {
            $0.set16($0.end + 8, 3)
            $0.set16($0.end + 10, 3)
        },
        Lie("other record: size", contradiction) { $0.set32($0.end + 12, 1) },
        Lie("other record: offset", contradiction) { $0.set32($0.end + 16, 1) },
        Lie("no locator", beyond) { $0.bytes[$0.end - 20] = 0 },
    ]

    @Test(arguments: lies) func isRefused(lie: Lie) throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(lie, in: directory)
            let error = #expect(throws: ZipError.self) { _ = try ZipArchive(path: path) }
            #expect(error == ZipError(archive: path, reason: lie.reason))
        }
    }

    @Test func theTruthIsRead() throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(Lie("none", .truncated) { _ in }, in: directory)
            #expect(try readArchive(path) == ["aaaa": [1, 2, 3], "bbbb": []])
            #expect(try run(["unzip", "-tq", path]).status == 0)
        }
    }

    /// An archive without entries is read too, with and without the ZIP64 records.
    @Test(arguments: [false, true]) func zeroIsAValue(hasZip64: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.zip"
            try writeArchive(path, [])
            var bytes = try FileSystem.contents(ofFile: path)
            #expect(bytes.count == 22)
            if hasZip64 {
                bytes = Self.zip64Records(entries: 0, size: 0, offset: 0)
            }
            try FileSystem.write(bytes, toNewFile: directory + "/b.zip")
            #expect(try ZipArchive(path: directory + "/b.zip").entries.isEmpty)
        }
    }

    /// Two small entries, and an end of which everything is in the ZIP64 record.
    private static func archive(_ lie: Lie, in directory: String) throws -> String {
        try writeArchive(directory + "/original.zip", [("aaaa", [1, 2, 3]), ("bbbb", [])])
        let original = try FileSystem.contents(ofFile: directory + "/original.zip")
        let plain = Forgery(original)
        var forgery = plain
        forgery.bytes.removeSubrange(plain.end...)
        forgery.bytes += zip64Records(
            entries: 2, size: UInt64(plain.end - plain.central), offset: UInt64(plain.central))
        forgery.end = plain.end + 76
        lie.tell(&forgery)
        let path = directory + "/forged.zip"
        try FileSystem.write(forgery.bytes, toNewFile: path)
        return path
    }

    private static func zip64Records(entries: UInt64, size: UInt64, offset: UInt64) -> [UInt8] {
        var writer = LittleEndianWriter()
        Zip64EndRecord(entries: entries, directorySize: size, directoryOffset: offset)
            .append(to: &writer)
        Zip64Locator(endRecordOffset: offset + size).append(to: &writer)
        EndOfCentralDirectory(entries: .max, directorySize: .max, directoryOffset: .max)
            .append(to: &writer)
        return writer.bytes
    }
}
