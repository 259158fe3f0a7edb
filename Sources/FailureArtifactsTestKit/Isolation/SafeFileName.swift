internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import Foundation

/// Names of files and directories, made from names of tests and stores.
package enum SafeFileName {
    /// Returns a name that every file system accepts.
    package static func make(from text: String) -> String {
        SafeName.make(from: text, maximumBytes: 100)
    }

    /// The start of the name of a directory for the running test; `test` if none is known to run.
    package static var ofCurrentTest: String {
        guard let test = CaptureSession.shared.currentTest?.identity else { return "test" }
        return make(from: "\(test.suite).\(test.name)")
    }
}
