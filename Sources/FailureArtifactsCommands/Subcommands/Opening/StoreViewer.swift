internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

/// A program to look at a store with, which has the store's path as the argument that follows its own.
struct StoreViewer: Equatable {
    let executable: String
    var arguments: [String] = []
    /// What follows the store's path.
    var settings: [String] = []
    /// What stands between the store's path and arguments that are passed on.
    var separator: [String] = []

    /// SQLite's own shell, which needs no more than a terminal.
    ///
    /// - Throws: How to get it where it is missing.
    static func shell(environment: [String: String]) throws(CommandError) -> StoreViewer {
        if let path = ChildProcess.executable(named: "sqlite3", environment: environment) {
            return StoreViewer(executable: path, settings: precautions)
        }
        throw CommandError(
            .noInput,
            "There is no sqlite3 in PATH. Install it with 'apt install sqlite3' or 'brew install sqlite', or "
                + "use 'failure-artifacts query'.")
    }

    /// What the shell is told first: views, triggers and computed columns of the store may call no function with
    /// side effects, such as the shell's own that write files or start an editor, and nothing writes past SQL.
    ///
    /// `-safe` would also take from the user what the shell can do with files, and `-readonly` the changes that
    /// the scratch copy is for. `.dbconfig` prints what it sets, which is no result.
    private static let precautions = [
        "-cmd", "PRAGMA trusted_schema = 0", "-cmd", ".once /dev/null", "-cmd", ".dbconfig defensive on",
    ]

    /// DB Browser for SQLite (<https://sqlitebrowser.org>), which needs a display.
    ///
    /// - Throws: How to get it where it is missing, or that there is no display.
    static func window(environment: [String: String]) throws(CommandError) -> StoreViewer {
        if let path = ChildProcess.executable(named: "sqlitebrowser", environment: environment) {
            #if !canImport(Darwin)
            let displays = ["DISPLAY", "WAYLAND_DISPLAY"]
            guard displays.contains(where: { !environment[$0, default: ""].isEmpty }) else {
                throw CommandError(
                    .noInput,
                    "There is no display for DB Browser: neither DISPLAY nor WAYLAND_DISPLAY is set, as over "
                        + "ssh. Leave out --gui to open the store in sqlite3.")
            }
            #endif
            return StoreViewer(executable: path)
        }
        #if canImport(Darwin)
        let name = "DB Browser for SQLite"
        let places = ["/Applications", Path.join(environment["HOME", default: "/"], "Applications")]
        for place in places
        where (try? FileSystem.status(of: Path.join(place, name + ".app"))) != nil {
            // Waits for it: the copy is gone afterwards. A new instance, as one that runs may go on.
            return StoreViewer(
                executable: "/usr/bin/open", arguments: ["-W", "-n", "-a", name], separator: ["--args"])
        }
        let way = "'brew install --cask db-browser-for-sqlite'"
        #else
        let way = "'apt install sqlitebrowser'"
        #endif
        throw CommandError(
            .noInput,
            "DB Browser for SQLite is not installed: there is no sqlitebrowser in PATH. Get it with \(way), or "
                + "leave out --gui to open the store in sqlite3.")
    }
}
