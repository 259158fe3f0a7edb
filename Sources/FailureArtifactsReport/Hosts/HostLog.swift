/// What a CI's log does with lines that are for it, and how text from outside is kept from being taken for such.
package enum HostLog {
    /// Whether GitHub's runner reads what is printed.
    package static func isGitHub(_ environment: [String: String]) -> Bool {
        environment["GITHUB_ACTIONS"] == "true"
    }

    /// Lines that may hold anything, as they can be printed.
    ///
    /// - Parameters:
    ///   - lines: Without line ends.
    ///   - environment: It tells which CI reads them.
    /// - Returns: On GitHub between two lines that have its runner obey nothing in between. On Azure, which has
    ///   nothing like it, what would start a command is pulled apart.
    package static func quoted(_ lines: [String], _ environment: [String: String]) -> [String] {
        guard !lines.isEmpty else { return [] }
        if isGitHub(environment) {
            let brackets = WorkflowCommand.brackets()
            return [brackets.start] + lines + [brackets.end]
        }
        if !environment["TF_BUILD", default: ""].isEmpty {
            // https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands
            return lines.map { $0.replacing("##", with: "# #") }
        }
        return lines
    }
}
