package enum ToolVersion {
    package static let number = "0.1.0"
}
