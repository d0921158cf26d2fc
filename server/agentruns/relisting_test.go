package agentruns

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/tools"
)

// TestAServerMayChangeWhileARunWaits lists the tools of a server anew when the
// client has answered. What vanished meanwhile is an error that the model reads,
// and never one of the run.
func TestAServerMayChangeWhileARunWaits(t *testing.T) {
	t.Parallel()
	member := func(id string) tools.Member { return tools.Member{ID: id, Tool: weather{}} }
	for name, tt := range map[string]struct {
		later []tools.Member
		err   error
		text  string
	}{
		"the same":        {later: []tools.Member{member("fs_b")}, text: "sunny"},
		"one is gone":     {later: []tools.Member{member("fs_other")}, text: `there is no tool "fs_b"`},
		"all are gone":    {text: `there is no tool "fs_b"`},
		"it is not there": {err: errors.New("refused"), text: `there is no tool "fs_b"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var listed atomic.Int64
			w := serving(t, func(s *setup) {
				s.service.TurnTools = NewTurnTools(TurnToolsSettings{ConnectMCP: func(context.Context, MCPServer) ([]tools.Member, func(), error) {
					if listed.Add(1) == 1 {
						return []tools.Member{member("fs_b")}, nil, nil
					}
					return tt.later, nil, tt.err
				}})
			})
			id := w.begin("use a fs_b", `,"tools":[{"kind":"local","name":"a"},{"kind":"mcp","name":"fs","url":"https://x.example"}]`)
			list := w.answered(id, func(map[string]any) string { return `,"result":"seen"` })
			last := list[len(list)-1].data
			if text, _ := last["text"].(string); listed.Load() != 2 || last["ok"] != true || !strings.HasPrefix(text, tt.text) {
				t.Errorf("after %d lists it ends with %v", listed.Load(), last)
			}
			again := w.answered(w.begin("use fs_b", `,"tools":[{"kind":"mcp","name":"fs","url":"https://x.example"}]`), nil)
			if last := again[len(again)-1].data; last["ok"] != true {
				t.Errorf("a run that begins then ends with %v", last)
			}
		})
	}
}
