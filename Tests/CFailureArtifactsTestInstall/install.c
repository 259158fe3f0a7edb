#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Defined in FailureArtifactsTestSupport: reads the configuration.
extern void failure_artifacts_tests_configure(void) __attribute__((weak));
// Installs discovery before any code in the test process uses SQLite, as linking a product does.
extern void failure_artifacts_tests_install(void) __attribute__((weak));

static const char variable[] = "FAILURE_ARTIFACTS";
static bool turned_off;
static char *original;

// The adapters are linked to these tests, and would capture their failures. Constructors with a priority run before the
// adapters' constructors. ChildTestRun sets the variable below for a child process that captures failures.
__attribute__((constructor(101))) static void turn_off(void) {
    turned_off = getenv("FAILURE_ARTIFACTS_UNIT_TESTS_CHILD") == NULL;
    if (!turned_off) return;
    const char *value = getenv(variable);
    if (value) original = strdup(value);
    setenv(variable, "off", 1);
}

__attribute__((constructor)) static void install(void) {
    // The configuration is read once. Then the variable is restored, for the programs that tests start.
    if (failure_artifacts_tests_configure) failure_artifacts_tests_configure();
    if (turned_off && original) setenv(variable, original, 1);
    if (turned_off && !original) unsetenv(variable);
    if (failure_artifacts_tests_install) failure_artifacts_tests_install();
}
