internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
internal import Testing

/// A closure that makes a test, as the macros of Swift Testing pass it.
typealias TestMaker = @Sendable () async -> Test

/// Calls Swift Testing's own function; defined in C.
@_silgen_name("failure_artifacts_store_test")
private func storeTest(
    _ makeTest: @escaping TestMaker, _ record: UnsafeMutableRawPointer, _ type: UnsafeRawPointer
) -> Bool

/// True unless the environment turns capturing off.
private let addsTrait: Bool = {
    guard CaptureConfiguration().mode != .off else { return false }
    CaptureSession.shared.testsWillHaveTasks()
    return true
}()

/// Adds the trait to a test or a suite; called by C for each that Swift Testing finds.
@_silgen_name("failure_artifacts_test_is_stored")
func testIsStored(
    _ makeTest: @escaping TestMaker, _ record: UnsafeMutableRawPointer, _ type: UnsafeRawPointer
) -> Bool {
    guard addsTrait else { return storeTest(makeTest, record, type) }
    return storeTest(
        {
            var test = await makeTest()
            // The scope of the first trait is around those of the others, which may open stores, or fail. A suite's
            // traits come before those of its tests.
            test.traits.insert(FailureArtifactsTrait(), at: 0)
            return test
        }, record, type)
}

package enum SwiftTesting {
    /// Starts discovery, so that stores opened before the first test are known.
    package static func install() {
        CaptureSession.shared.recordIssues { message, file, line in
            guard let test = Test.current else { return false }
            Issue.record(
                Comment(rawValue: message),
                sourceLocation: SourceLocation(
                    fileID: "\(test.sourceLocation.moduleName)/\(Path.name(of: file))", filePath: file,
                    line: line, column: 1))
            return true
        }
    }
}
