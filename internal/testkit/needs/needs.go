// Package needs decides whether a test is skipped or fails when a program that it needs is
// missing, such as PostgreSQL or Node.js.
package needs

import (
	"os"
	"testing"
)

// InCI reports whether the tests run in CI, where everything that they need is
// installed. The variable CI is set there by convention; .ci/run sets it too.
func InCI() bool {
	ci := os.Getenv("CI")
	return ci != "" && ci != "false" && ci != "0"
}

// Missing ends a test that needs something which is not installed or cannot be
// reached: reason. It skips the test, and fails it in CI: a suite that is green
// because it tested nothing is worse than a red one.
func Missing(t testing.TB, reason error) {
	t.Helper()
	if InCI() {
		t.Fatalf("%v\nCI is set, so that a missing dependency is a failure. `make deps` installs it", reason)
		return
	}
	t.Skipf("LEFT OUT: %v. `make deps` installs it", reason)
}
