package agents_test

import (
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
)

// A patch that doubles the document or tests all of it repeatedly is rejected.
func TestPatchesThatGrowAreRejected(t *testing.T) {
	t.Parallel()
	var copies, tests []wire.PatchOp
	for i := range 1700 {
		copies = append(copies, wire.PatchOp{Op: "copy", From: "", Path: fmt.Sprintf("/c%d", i)})
		tests = append(tests, wire.PatchOp{Op: "test", Path: "", Value: []byte(document)})
	}
	for name, patch := range map[string][]wire.PatchOp{"copies": copies, "tests": tests} {
		if _, err := agents.ApplyPatch([]byte(document), patch); err == nil {
			t.Errorf("%s are applied", name)
		}
	}
}

var document = fmt.Sprintf(`{"text":"%065536d"}`, 1)
