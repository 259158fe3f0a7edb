/// The version of the tool.
package enum ToolVersion {
    package static let number = "0.1.0"
    /// The date of the version, in the format of `mdoc(7)`.
    package static let date = "November 21, 2026"
}
