// Package needs decides whether a test is skipped or fails if a program that it needs is missing,
// such as PostgreSQL or Node.js.
package needs

import (
	"os"
	"testing"
)

// InCI reports whether the tests run in CI, where everything they need is installed. The variable
// CI is set there by convention; .ci/run sets it too.
func InCI() bool {
	ci := os.Getenv("CI")
	return ci != "" && ci != "false" && ci != "0"
}

// Missing ends a test that needs something not installed or unreachable, given in reason. It skips
// the test, but fails it in CI: a suite that is green because it tested nothing is worse than a red
// one.
func Missing(t testing.TB, reason error) {
	t.Helper()
	if InCI() {
		t.Fatalf("%v\nCI is set, so that a missing dependency is a failure. `make deps` installs it", reason)
		return
	}
	t.Skipf("LEFT OUT: %v. `make deps` installs it", reason)
}
