package console_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
)

func TestEmptyPagesSayWhatToDoNext(t *testing.T) {
	s := openSite(t, "version: 1\nstore: {driver: memory}\n", replies)
	b := browser.Open(t, 1280, 800)
	for page, want := range map[string]string{
		"fleet": "Declare one under agents:", "graph": "Declare one under agents:", "play": "Declare one under agents:", "turns": "Start one in the playground",
		"sessions": "Begin one in the playground", "inbox": "Requests appear here when", "workflows": "workflows:", "usage": "Start one in the playground",
		"tenants": "Publish one with", "diagnostics": "Nothing is wrong.",
	} {
		s.page(b, page)
		b.Await(says(want))
	}
}
