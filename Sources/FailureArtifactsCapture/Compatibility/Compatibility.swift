internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension OpenFiles.Entry {
    /// True if SQLite created the file for a temporary database that outgrew its cache.
    ///
    /// Such a file has no name in its directory any more (<https://www.sqlite.org/tempfiles.html>). Its connection
    /// knows the database, so the file is not looked for among the open files.
    ///
    /// Relies on: the file was created with a name that starts with `SQLITE_TEMP_FILE_PREFIX` (SQLite's `os.h`).
    /// Verified on SQLite 3.40.1. Otherwise: a second copy of the temporary database is in the bundle.
    var isTemporaryDatabase: Bool {
        Path.name(of: path).hasPrefix("etilqs_") && (try? FileSystem.status(of: path)) == nil
    }
}
