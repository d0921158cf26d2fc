package local_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

// TestTheModelIsToldTheDateOfEachRequest runs a turn with a tool that takes eleven hours: the first
// three of four requests are made on one day and begin alike.
func TestTheModelIsToldTheDateOfEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble's clock begins at midnight UTC
		work := like(tools.Descriptor{Timeout: tools.NoTimeout}, func(context.Context, *tools.Call) (tools.Result, error) {
			time.Sleep(11 * time.Hour)
			return tools.TextResult("ok"), nil
		})
		s := stage{
			agent:   spec.Agent{SystemPrompt: "prompt"},
			history: []model.Message{model.System("old rules"), model.User("hello"), model.Assistant("hi")},
			model:   says(asks("", call("x")), asks("", call("x")), asks("", call("x")), text("done")),
			tools:   map[string]tools.Tool{"x": work},
			plugins: []plugin{func(r *plugins.Registrar) {
				if err := core.NewKnowledgeCutoff("1999-06").Register(r); err != nil {
					t.Error(err)
				}
			}},
		}
		got := s.play(t)
		got.ends(t, event.NaturalEnd, "")
		told := func(date string) []string {
			return []string{"system prompt", "system Your knowledge ends at 1999-06. Today is " + date + " (UTC). Do not assume that nothing happened in between: " +
				"for anything later than your knowledge, rely on this conversation and on tools.", "system old rules", "user hello"}
		}
		for i, date := range []string{"2000-01-01", "2000-01-01", "2000-01-01", "2000-01-02"} {
			if diff := cmp.Diff(told(date), brief(s.model.requests[i].Messages)[:4]); diff != "" {
				t.Errorf("request %d (-want +got):\n%s", i+1, diff)
			}
		}
		for _, m := range brief(got.Messages) {
			if m == told("2000-01-01")[1] {
				t.Errorf("the conversation keeps %q", m)
			}
		}
	})
}
