internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// The bundles of tests whose process died.

extension Console {
    /// Returns the recovery of a directory's bundles, with the settings of the environment.
    ///
    /// - `redactions`: the redaction file from the command line; nil for the one that the environment names.
    func recovery(of directory: String, redactions: String? = nil) throws -> CrashRecovery {
        var reader = EnvironmentReader(environment)
        let limits = DirectoryLimits(&reader)
        let readers = BundleReaders(&reader)
        for warning in reader.warnings { try warn(warning) }
        let rules = try redactionFile(redactions).map { try RedactionRules(file: $0) }
        return CrashRecovery(
            of: ArtifactsDirectory(path: directory, readers: readers), limits: limits,
            redactions: rules ?? RedactionRules())
    }

    /// Makes the bundles of tests whose process died, in the directory that a path names, or that it names a bundle of.
    ///
    /// It leaves a directory alone that can't be written, or that wasn't written on this machine, and warns.
    func recoverTests(at path: String) throws {
        let isThere = (try? FileSystem.status(of: path)) ?? nil
        let directory = isThere == nil ? Path.directory(of: path) : path
        guard isThere?.kind ?? .directory == .directory,
            ArtifactsDirectory(path: directory).hasHiddenFiles
        else { return }
        let recovery = try recovery(of: directory)
        guard recovery.hasUnfinishedTests else { return }
        let place = "'\(SafeText.line(directory))'"
        let sweep = SafeText.line(ToolCommand().text("sweep", of: directory))
        let start = "\(place) has a test whose process died. No bundle was made of it, because "
        guard recovery.isOriginal else {
            return try warn(
                start
                    + "the directory may be a copy from elsewhere. If it is of your own runs, use: \(sweep)"
            )
        }
        if let obstacle = FileSystem.obstacle(toWritingInto: directory) {
            return try warn(
                start + "the directory can't be written to: \(obstacle.reason). "
                    + "Make it writable, or copy it, and use: \(sweep)")
        }
        let result = recovery.sweep()
        if result.bundles.count == 1 {
            let bundle = ToolCommand().shortened(result.bundles[0])
            say("\(place) had a test whose process died. Its bundle is \(SafeText.line(bundle)).")
        } else if result.bundles.count > 1 {
            say(
                "\(place) had \(result.bundles.count) tests whose process died. Their bundles were made of what it left."
            )
        }
        for warning in result.warnings { try warn(warning) }
    }
}
