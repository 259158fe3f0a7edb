internal import FailureArtifactsSystem

/// The commands of the tool that messages suggest.
package struct ToolCommand {
    private let name: String
    private let directory: String

    /// Creates the commands to be typed in a directory, by default the working directory of this process.
    ///
    /// In a package, `swift run` runs the tool if it isn't installed.
    package init(
        in directory: String = Path.currentDirectory,
        searchPath: String = ProcessEnvironment.variables["PATH", default: ""]
    ) {
        let isInstalled = searchPath.split(separator: ":").contains { directory in
            FileSystem.regularFile(Path.join(String(directory), "failure-artifacts")) != nil
        }
        let isPackage = FileSystem.regularFile(Path.join(directory, "Package.swift")) != nil
        name = !isInstalled && isPackage ? "swift run failure-artifacts" : "failure-artifacts"
        self.directory = directory
    }

    package func explain(_ bundle: String) -> String { text("explain", of: shortened(bundle)) }

    package func text(_ command: String, of path: String) -> String {
        "\(name) \(command) \(ShellWord.quoted(path))"
    }

    /// Returns the shortest path that stands for a bundle: the part of its name that no other bundle has, in place of
    /// the name.
    package func shortened(_ bundle: String) -> String {
        let path = Path.relative(bundle, to: directory)
        let name = Path.name(of: path)
        guard BundleName.isName(name) else { return path }
        return Path.join(Path.directory(of: path), BundleName.randomPart(of: name))
    }
}
