internal import FailureArtifactsSystem

/// Returns a number of rounds with random input: `all` in `Scripts/test --all`, which sets `TEST_ROUNDS`, and
/// `few` elsewhere.
package func rounds(_ few: Int, of all: Int) -> Int {
    ProcessEnvironment.variables["TEST_ROUNDS"] == "all" ? all : few
}
