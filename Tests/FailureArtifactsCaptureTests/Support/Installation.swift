@testable import FailureArtifactsCapture

/// Installs discovery when the test process starts, before SQLite is used, as linking a product does.
@_cdecl("failure_artifacts_tests_install")
func installDiscovery() {
    ConnectionRegistry.shared.install()
}
