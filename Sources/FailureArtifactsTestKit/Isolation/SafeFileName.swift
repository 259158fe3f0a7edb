internal import FailureArtifactsBundle
internal import FailureArtifactsCapture

/// Names of files and directories that are made of names of tests and stores.
package enum SafeFileName {
    /// A name that every file system takes.
    package static func make(from text: String) -> String {
        SafeName.make(from: text, maximumBytes: 100)
    }

    /// What a directory of the test that runs begins with; `test` where none is known.
    package static var ofCurrentTest: String {
        guard let test = CaptureSession.shared.currentTest?.identity else { return "test" }
        return make(from: "\(test.suite).\(test.name)")
    }
}
