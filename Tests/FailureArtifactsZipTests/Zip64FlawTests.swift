import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsZip

/// ZIP64 records with one flaw each.
@Suite struct Zip64FlawTests {
    typealias Flaw = UntrustedArchiveTests.Flaw

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

    /// Offsets are relative to the end record.
    ///
    /// The locator is 20 bytes before it, and the ZIP64 end record 76.
    static let flaws: [Flaw] = [
        Flaw("locator: disk", multiDisk) { $0.set32($0.end - 16, 1) },
        Flaw("locator: disks", multiDisk) { $0.set32($0.end - 4, 2) },
        Flaw("locator: offset past itself", outside) { $0.set64($0.end - 12, UInt64($0.end)) },
        Flaw("locator: greatest offset", outside) { $0.set64($0.end - 12, .max) },
        Flaw("locator: offset too small", notThere) { $0.set64($0.end - 12, 0) },
        Flaw("record: signature", notThere) { $0.bytes[$0.end - 76] = 0 },
        Flaw("record: length too small", impossible) { $0.set64($0.end - 72, 43) },
        Flaw("record: length overflows", impossible) { $0.set64($0.end - 72, .max) },
        Flaw("record: length too large", wrongEnd) { $0.set64($0.end - 72, 45) },
        Flaw("record: disk", multiDisk) { $0.set32($0.end - 60, 1) },
        Flaw("record: directory's disk", multiDisk) { $0.set32($0.end - 56, 1) },
        Flaw("record: entries on disk", multiDisk) { $0.set64($0.end - 52, 1) },
        Flaw("record: a great count", .tooLarge(limit: 100_000)) {
            $0.set64($0.end - 52, 1_000_001)
            $0.set64($0.end - 44, 1_000_001)
        },
        Flaw("record: the greatest count", .tooLarge(limit: 100_000)) {
            $0.set64($0.end - 52, .max)
            $0.set64($0.end - 44, .max)
        },
        Flaw(
            "record: too many for the directory",
            .inconsistent("the central directory is too small for the number of entries")
        ) {
            $0.set64($0.end - 52, 99_999)
            $0.set64($0.end - 44, 99_999)
        },
        Flaw("record: greatest size", beyond) { $0.set64($0.end - 36, .max) },
        Flaw("record: greatest offset", beyond) { $0.set64($0.end - 28, .max) },
        Flaw("record: size and offset overflow to the truth", beyond) {
            $0.set64($0.end - 36, .max)
            $0.set64($0.end - 28, UInt64($0.end - 76) + 1)
        },
        Flaw("other record: count", contradiction) {
            $0.set16($0.end + 8, 3)
            $0.set16($0.end + 10, 3)
        },
        Flaw("other record: size", contradiction) { $0.set32($0.end + 12, 1) },
        Flaw("other record: offset", contradiction) { $0.set32($0.end + 16, 1) },
        Flaw("no locator", beyond) { $0.bytes[$0.end - 20] = 0 },
    ]

    @Test(arguments: flaws) func isRefused(flaw: Flaw) throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(flaw, in: directory)
            let error = #expect(throws: ZipError.self) { _ = try ZipArchive(path: path) }
            #expect(error == ZipError(archive: path, reason: flaw.reason))
        }
    }

    @Test func theUnchangedArchiveIsRead() throws {
        try withTemporaryDirectory { directory in
            let path = try Self.archive(Flaw("none", .truncated) { _ in }, in: directory)
            #expect(try readArchive(path) == ["aaaa": [1, 2, 3], "bbbb": []])
            #expect(try run(["unzip", "-tq", path]).status == 0)
        }
    }

    /// An archive without entries is valid too, with and without ZIP64 records.
    @Test(arguments: [false, true]) func emptyArchivesAreRead(hasZip64: Bool) throws {
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

    /// Creates an archive with two small entries, and an end record whose values are all in the ZIP64 record.
    private static func archive(_ flaw: Flaw, in directory: String) throws -> String {
        try writeArchive(directory + "/original.zip", [("aaaa", [1, 2, 3]), ("bbbb", [])])
        let original = try FileSystem.contents(ofFile: directory + "/original.zip")
        let plain = Forgery(original)
        var forgery = plain
        forgery.bytes.removeSubrange(plain.end...)
        forgery.bytes += zip64Records(
            entries: 2, size: UInt64(plain.end - plain.central), offset: UInt64(plain.central))
        forgery.end = plain.end + 76
        flaw.tell(&forgery)
        let path = directory + "/forged.zip"
        try FileSystem.write(forgery.bytes, toNewFile: path)
        return path
    }

    private static func zip64Records(entries: UInt64, size: UInt64, offset: UInt64) -> [UInt8] {
        var writer = LittleEndianWriter()
        writer.append(ZipFormat.Signature.zip64End)
        writer.append(44 as UInt64)
        writer.append([45, 3, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        for number in [entries, entries, size, offset] { writer.append(number) }
        writer.append(ZipFormat.Signature.zip64Locator)
        writer.append(0 as UInt32)
        writer.append(offset + size)
        writer.append(1 as UInt32)
        // All values of the other end record are in the ZIP64 one.
        writer.append(ZipFormat.Signature.end)
        writer.append([0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 12) + [0, 0])
        return writer.bytes
    }
}
