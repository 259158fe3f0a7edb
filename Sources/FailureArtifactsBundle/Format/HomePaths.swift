internal import FailureArtifactsSystem

/// The home directory's paths, to be replaced with `~`.
package struct HomePaths: Sendable {
    /// The resolved path and the given one, without a trailing slash.
    private let homes: [String]

    /// Shortens no paths if the home directory's path is nil, empty or the root.
    package init(home: String?) {
        let given = (home ?? "").hasSuffix("/") ? String((home ?? "").dropLast()) : home ?? ""
        guard given.hasPrefix("/") else {
            homes = []
            return
        }
        let real = FileSystem.realPath(of: given)
        homes = real == given || real == nil || real == "/" ? [given] : [real ?? given, given]
    }

    /// The home directory of the process's environment.
    package static var current: HomePaths { HomePaths(home: ProcessEnvironment.variables["HOME"]) }

    /// Shortens every path below the home directory.
    package func shortened(_ text: String) -> String {
        homes.reduce(text) { Self.shortened($0, $1) }
    }

    private static func shortened(_ text: String, _ home: String) -> String {
        var result = ""
        var position = text.startIndex
        while let range = text[position...].firstRange(of: home) {
            // Matches /home/me, but neither /home/meg nor /mnt/home/me.
            let isEnd = range.upperBound == text.endIndex || !isName(text[range.upperBound])
            let isStart =
                range.lowerBound == text.startIndex
                || !isName(text[text.index(before: range.lowerBound)])
            result += text[position..<range.lowerBound] + (isStart && isEnd ? "~" : home)
            position = range.upperBound
        }
        return result + text[position...]
    }

    private static func isName(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == "-"
    }
}
