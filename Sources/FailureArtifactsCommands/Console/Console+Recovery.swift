internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// The bundles of tests whose process died.

extension Console {
    /// Returns the recovery of a directory's bundles, with the settings of the environment.
    func recovery(of directory: String) throws -> CrashRecovery {
        var reader = EnvironmentReader(environment)
        let limits = DirectoryLimits(&reader)
        let readers = BundleReaders(&reader)
        for warning in reader.warnings { try warn(warning) }
        return CrashRecovery(
            of: ArtifactsDirectory(path: directory, readers: readers), limits: limits,
            redactions: try redactions())
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

extension Console {
    /// The absolute path of the redaction file that the environment names; nil for none.
    var redactionFile: String? {
        let file = environment[RedactionRules.variable, default: ""]
        return file.isEmpty ? nil : Path.join(Path.currentDirectory, file)
    }

    func redactions() throws -> RedactionRules {
        try redactionFile.map { try RedactionRules(file: $0) } ?? RedactionRules()
    }

    /// The users who may read bundles, and the pages with their content.
    var bundleReaders: BundleReaders {
        var reader = EnvironmentReader(environment)
        return BundleReaders(&reader)
    }

    /// The directory of invariants that the environment names; nil for none.
    var invariantsDirectory: String? {
        environment[Invariant.variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a directory of invariants.
    ///
    /// - `given`: the path from the command line; nil if the option wasn't given.
    func invariants(in given: String?) throws -> [Invariant] {
        if let given {
            let invariants: [Invariant]
            do {
                invariants = try Invariant.all(inDirectory: given)
            } catch {
                throw CommandError(
                    error.isNotFound ? .noInput : .inputOutput,
                    "The invariants in '\(given)' cannot be read: \(error.reason). Give a directory of SQL files."
                )
            }
            if invariants.isEmpty {
                try warn("'\(given)' has no .sql files, so no invariants are checked.")
            }
            return invariants
        }
        guard let path = invariantsDirectory else { return [] }
        do {
            return try Invariant.all(inDirectory: path)
        } catch {
            try warn(
                "\(Invariant.variable) is '\(path)', which cannot be read: \(error.reason). No invariants are checked."
            )
            return []
        }
    }
}
