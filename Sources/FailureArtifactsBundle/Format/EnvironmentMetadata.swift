extension BundleMetadata {
    /// The machine and the run.
    ///
    /// It never holds more of the process's environment than the run identity's allow-list.
    package struct Environment: Codable, Equatable, Sendable {
        package var operatingSystem: String
        package var architecture: String
        /// The version of Swift that the product was compiled with.
        package var swift: String
        /// The version of the SQLite library in the process of the test.
        package var sqlite: String
        package var processID: Int
        /// Absent outside CI.
        package var ci: ContinuousIntegration?

        package init(
            operatingSystem: String, architecture: String, swift: String, sqlite: String, processID: Int,
            ci: ContinuousIntegration? = nil
        ) {
            self.operatingSystem = operatingSystem
            self.architecture = architecture
            self.swift = swift
            self.sqlite = sqlite
            self.processID = processID
            self.ci = ci
        }
    }

    /// A run of a CI service.
    package struct ContinuousIntegration: Codable, Equatable, Sendable {
        /// Such as `GitHub Actions`.
        package var service: String
        /// The variables that identify the run, with their values.
        package var variables: [String: String]

        package init(service: String, variables: [String: String]) {
            self.service = service
            self.variables = variables
        }
    }
}
