import CFailureArtifactsSQLite
import FailureArtifactsSystem
import Foundation
import Testing

/// A VFS over the default one that simulates encryption: every byte of every file is inverted.
///
/// SQLite's requirements for a VFS: <https://www.sqlite.org/c3ref/vfs.html>.
enum ScramblingFileSystem {
    static let name = "scrambling"

    /// Registers the VFS, once per process.
    static func register() { _ = registration }

    private static let registration: Int32 = {
        guard let original = sqlite3_vfs_find(nil) else { return SQLITE_ERROR }
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(from: original, count: 1)
        vfs.pointee.zName = UnsafePointer(strdup(name))
        vfs.pointee.szOsFile += Int32(headerSize)
        vfs.pointee.pNext = nil
        vfs.pointee.xOpen = { _, path, file, flags, outFlags in
            guard let file, let original = sqlite3_vfs_find("unix") else { return SQLITE_ERROR }
            let inner = Self.inner(file)
            inner.pointee.pMethods = nil
            let code = original.pointee.xOpen(original, path, inner, flags, outFlags)
            file.pointee.pMethods = inner.pointee.pMethods == nil ? nil : UnsafePointer(methods)
            return code
        }
        return sqlite3_vfs_register(vfs, 0)
    }()

    /// The delay of each read, in microseconds.
    static let readDelay = Lock<useconds_t>(0)

    /// The number of bytes before the inner file, for our own fields.
    private static let headerSize = 16

    private static func inner(
        _ file: UnsafeMutablePointer<sqlite3_file>
    ) -> UnsafeMutablePointer<sqlite3_file> {
        (UnsafeMutableRawPointer(file) + headerSize).assumingMemoryBound(to: sqlite3_file.self)
    }

    private static func call(
        _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ body: (sqlite3_io_methods, UnsafeMutablePointer<sqlite3_file>) -> CInt
    ) -> CInt {
        guard let inner = file.map(inner) else { return SQLITE_ERROR }
        return body(inner.pointee.pMethods.pointee, inner)
    }

    nonisolated(unsafe) private static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        var table = sqlite3_io_methods()
        // No memory mapping: it would expose the file's own bytes.
        table.iVersion = 2
        table.xClose = { file in call(file) { $0.xClose($1) } }
        table.xRead = { file, buffer, count, offset in
            call(file) { methods, inner in
                usleep(readDelay.withLock(\.self))
                let code = methods.xRead(inner, buffer, count, offset)
                // A short read has filled the rest with zeros, which are not part of the file.
                var size: sqlite3_int64 = 0
                _ = methods.xFileSize(inner, &size)
                invert(buffer, Int(max(0, min(sqlite3_int64(count), size - offset))))
                return code
            }
        }
        table.xWrite = { file, buffer, count, offset in
            call(file) { methods, inner in
                let copy = UnsafeMutableRawPointer.allocate(byteCount: Int(count), alignment: 8)
                defer { copy.deallocate() }
                if let buffer { copy.copyMemory(from: buffer, byteCount: Int(count)) }
                invert(copy, Int(count))
                return methods.xWrite(inner, copy, count, offset)
            }
        }
        table.xTruncate = { file, size in call(file) { $0.xTruncate($1, size) } }
        table.xSync = { file, flags in call(file) { $0.xSync($1, flags) } }
        table.xFileSize = { file, size in call(file) { $0.xFileSize($1, size) } }
        table.xLock = { file, lock in call(file) { $0.xLock($1, lock) } }
        table.xUnlock = { file, lock in call(file) { $0.xUnlock($1, lock) } }
        table.xCheckReservedLock = { file, result in call(file) { $0.xCheckReservedLock($1, result) } }
        table.xFileControl = { file, operation, argument in
            call(file) { $0.xFileControl($1, operation, argument) }
        }
        table.xSectorSize = { file in call(file) { $0.xSectorSize($1) } }
        table.xDeviceCharacteristics = { file in call(file) { $0.xDeviceCharacteristics($1) } }
        table.xShmMap = { file, page, size, extend, memory in
            call(file) { $0.xShmMap($1, page, size, extend, memory) }
        }
        table.xShmLock = { file, offset, count, flags in
            call(file) { $0.xShmLock($1, offset, count, flags) }
        }
        table.xShmBarrier = { file in
            _ = call(file) { methods, inner in
                methods.xShmBarrier(inner)
                return SQLITE_OK
            }
        }
        table.xShmUnmap = { file, delete in call(file) { $0.xShmUnmap($1, delete) } }
        methods.initialize(to: table)
        return methods
    }()

    private static func invert(_ bytes: UnsafeMutableRawPointer?, _ count: Int) {
        for byte in UnsafeMutableRawBufferPointer(start: bytes, count: count).indices {
            bytes?.storeBytes(
                of: ~(bytes?.load(fromByteOffset: byte, as: UInt8.self) ?? 0), toByteOffset: byte,
                as: UInt8.self)
        }
    }
}
