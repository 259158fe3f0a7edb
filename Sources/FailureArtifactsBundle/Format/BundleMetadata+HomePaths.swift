internal import FailureArtifactsSQLite
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

extension BundleMetadata {
    /// Shortens all paths below the home directory.
    package mutating func shortenHomePaths(_ paths: HomePaths) {
        test.arguments = test.arguments?.map(paths.shortened)
        for index in failures.indices {
            failures[index].message = paths.shortened(failures[index].message)
            failures[index].file = failures[index].file.map(paths.shortened)
        }
        packageRoot = packageRoot.map(paths.shortened)
        stores = stores.map { $0.shorteningHomePaths(paths) }
        snapshots = snapshots?.map { snapshot in
            var snapshot = snapshot
            snapshot.stores = snapshot.stores.map { $0.shorteningHomePaths(paths) }
            return snapshot
        }
        otherStores = otherStores?.map { store in
            BundleMetadata.OtherStore(path: paths.shortened(store.path), reason: store.reason)
        }
        for index in attachments.indices {
            attachments[index].name = paths.shortened(attachments[index].name)
        }
        warnings = warnings.map { $0.mapTexts(paths.shortened) }
    }
}

extension BundleMetadata.Store {
    fileprivate func shorteningHomePaths(_ paths: HomePaths) -> BundleMetadata.Store {
        var result = self
        result.originalPath = originalPath.map(paths.shortened)
        result.capture.reason = capture.reason.map(paths.shortened)
        result.statements?.reason = statements?.reason.map(paths.shortened)
        result.history?.reason = history?.reason.map(paths.shortened)
        return result
    }
}
