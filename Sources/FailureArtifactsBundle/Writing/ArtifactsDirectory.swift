package import FailureArtifactsSystem

/// The directory that bundles go to, shared by all processes of a run.
///
/// Nothing is created before the first failure. Bundles in the making are in a hidden sub-directory, so that
/// uploads and readers see whole bundles only.
package struct ArtifactsDirectory: Sendable {
    /// What the directory holds.
    package struct Usage: Equatable, Sendable {
        package var bundles = 0
        /// Of the bundles' files.
        package var bytes: UInt64 = 0
    }

    /// Absolute.
    package let path: String

    package init(path: String) {
        self.path = Path.absolute(path)
    }

    /// What is not finished: the captures of running tests, hidden from uploads.
    private var inFlight: String { Path.join(path, ".in-flight") }

    /// Creates the directory where it is missing, and has git ignore what is in it.
    package func prepare() throws(SystemError) {
        try FileSystem.createDirectory(path)
        do {
            try FileSystem.write(Array("*\n".utf8), toNewFile: Path.join(path, ".gitignore"))
        } catch  where error.isAlreadyExists {
            // Another failure was first.
        }
    }

    /// How many bundles there are now, of all processes, and how large they are.
    ///
    /// What is still to be packed counts as what it is before that.
    package func usage() throws(SystemError) -> Usage {
        var usage = Usage()
        for name in try FileSystem.contents(ofDirectory: path) where name.hasSuffix(".zip") {
            usage.bundles += 1
            // A bundle that somebody has just removed takes no place.
            usage.bytes += FileSystem.regularFile(Path.join(path, name))?.size ?? 0
        }
        for spool in spools {
            usage.bundles += 1
            usage.bytes += FileSystem.size(ofAllBelow: spool.path)
        }
        return usage
    }

    /// What is not packed yet, of all processes.
    package var spools: [Spool] {
        let names = (try? FileSystem.contents(ofDirectory: inFlight)) ?? []
        return names.compactMap { Spool(at: Path.join(inFlight, $0)) }
    }

    /// Creates a hidden directory in which one capture is put together.
    package func makeSpool() throws(SystemError) -> Spool {
        while true {
            try FileSystem.createDirectory(inFlight)
            do {
                return try Spool(in: inFlight)
            } catch  where error.isNotFound {
                // Another process has just removed the last of its own, and the hidden directory with it.
                continue
            }
        }
    }

    /// Gives a finished bundle its name, in one step.
    ///
    /// - Parameters:
    ///   - file: The bundle, synced, somewhere in the hidden directory.
    ///   - test: The test whose bundle it is.
    ///   - suffix: What else its name says.
    /// - Returns: The bundle's path.
    /// - Throws: The failure to rename it; it then stays where it is.
    package func publish(
        _ file: String, of test: BundleMetadata.Test, suffix: String? = nil
    ) throws(SystemError) -> String {
        while true {
            let target = Path.join(path, BundleName(test: test, suffix: suffix).description)
            do {
                try FileSystem.renameExclusively(file, to: target)
            } catch  where error.isAlreadyExists {
                // One in four thousand million times, or where somebody prepared it: another random part.
                continue
            }
            try FileSystem.synchronizeDirectory(path)
            return target
        }
    }

    /// Removes a spool, and the hidden directory with the last of them.
    package func discard(_ spool: Spool) {
        spool.remove()
        // Fails where other captures are under way, as it should.
        try? FileSystem.removeEmptyDirectory(inFlight)
    }
}
