internal import FailureArtifactsSystem

extension OpenFiles.Entry {
    /// True if SQLite has made the file for a temporary database that outgrew its cache: it has no name in the directory
    /// any more (<https://www.sqlite.org/tempfiles.html>).
    ///
    /// The connection of such a database knows it, so that it is not looked for among the open files.
    ///
    /// Relies on: the file was created with a name that starts with `SQLITE_TEMP_FILE_PREFIX` (SQLite's `os.h`). Verified on
    /// SQLite 3.40.1. Otherwise: a second copy of the temporary database is in the bundle.
    var isTemporaryDatabase: Bool {
        Path.name(of: path).hasPrefix("etilqs_") && (try? FileSystem.status(of: path)) == nil
    }
}
