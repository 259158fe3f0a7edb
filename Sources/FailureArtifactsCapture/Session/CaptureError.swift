/// A failure to make a bundle, described by a full sentence.
struct CaptureError: Error, CustomStringConvertible {
    let description: String
    /// True if a limit of the artifacts directory caused this.
    var isLimit = false
}
