package cli

import (
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
)

// A permission request describes the call's action, whatever the kind of tool. Tools that ask do
// nothing else.
func TestEveryKindOfToolSaysWhatACallDoes(t *testing.T) {
	t.Parallel()
	for _, kind := range shipped.Components().Kinds.Tools {
		if _, ok := kind.NewConfig().(acting); !ok && kind.Type != "ask" {
			t.Errorf("tools of kind %s do not say what a call does", kind.Type)
		}
	}
}
