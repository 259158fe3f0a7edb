#include <stdbool.h>
#include <stdlib.h>

// In FailureArtifactsTestSupport: reads the configuration.
extern void failure_artifacts_tests_configure(void) __attribute__((weak));
// Installs discovery before anything in the test process uses SQLite, as linking a product does.
extern void failure_artifacts_tests_install(void) __attribute__((weak));

static bool turned_off;

// The adapters are linked to these tests, and would capture their failures. Constructors with a priority run before
// the adapters' own ones. A test that starts this program with capturing on sets the variable.
__attribute__((constructor(101))) static void turn_off(void) {
    turned_off = getenv("FAILURE_ARTIFACTS") == NULL;
    if (turned_off) setenv("FAILURE_ARTIFACTS", "off", 1);
}

__attribute__((constructor)) static void install(void) {
    // The configuration is read once. After that the variable is removed: programs that tests start don't inherit it.
    if (failure_artifacts_tests_configure) failure_artifacts_tests_configure();
    if (turned_off) unsetenv("FAILURE_ARTIFACTS");
    if (failure_artifacts_tests_install) failure_artifacts_tests_install();
}
