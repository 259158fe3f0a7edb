// Installs discovery before anything in the test process uses SQLite, as linking a product does.
extern void failure_artifacts_tests_install(void) __attribute__((weak));

__attribute__((constructor)) static void install(void) {
    if (failure_artifacts_tests_install) failure_artifacts_tests_install();
}
