package settings_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/google/go-cmp/cmp"
)

// faults writes each diagnostic as its code, path and message.
func faults(list diag.List) []string {
	var out []string
	for _, d := range list {
		out = append(out, string(d.Code)+" "+d.Path+": "+d.Message)
	}
	return out
}

// expect compares what a record says of itself.
func expect(t *testing.T, got diag.List, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, faults(got)); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}
