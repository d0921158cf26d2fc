package needs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// recorder records a test's outcome.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Fatalf(f string, a ...any) { r.ended = "failed: " + fmt.Sprintf(f, a...) }
func (r *recorder) Skipf(f string, a ...any)  { r.ended = "skipped: " + fmt.Sprintf(f, a...) }

func TestAMissingDependencySkipsATestExceptInCI(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped", "false": "skipped", "true": "failed", "1": "failed"} {
		t.Setenv("CI", ci)
		r := &recorder{TB: t}
		needs.Missing(r, errors.New("PostgreSQL is not installed"))
		if got, _, _ := strings.Cut(r.ended, ":"); got != want {
			t.Errorf("CI=%q: the test is %s", ci, r.ended)
		}
	}
}
