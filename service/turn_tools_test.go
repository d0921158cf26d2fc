package service_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

func TestATurnMayCallTheToolsThatItNamesAlone(t *testing.T) {
	s := serve(t, listener(t))
	for name, tt := range map[string]struct {
		tools spec.Names
		want  event.CallOutcome
	}{
		"all":  {nil, event.CallSucceeded},
		"it":   {spec.Names{"look"}, event.CallSucceeded},
		"none": {spec.Names{}, event.CallFailed},
	} {
		req := says(session(t, s, "listener"), "What is there?")
		req.Overrides = resolve.Overrides{Tools: tt.tools}
		turn := ended(t, s, create(t, s, req).ID)
		var got []event.CallOutcome
		for _, record := range log(t, s, turn.ID) {
			if ev, err := record.Event(); err == nil {
				if done, ok := ev.Data.(*event.ToolCallDone); ok {
					got = append(got, done.Outcome)
				}
			}
		}
		if turn.Status != store.Succeeded || !slices.Equal(got, []event.CallOutcome{tt.want}) {
			t.Errorf("%s: the calls end as %v, the turn as %+v", name, got, turn.Outcome)
		}
	}
	id := session(t, s, "listener")
	for _, tools := range []spec.Names{{"lok"}, {"look", "Look"}, {""}, {"*"}} {
		req := says(id, "What is there?")
		req.Overrides = resolve.Overrides{Tools: tools}
		if _, err := s.CreateTurn(t.Context(), alice, req); !invalidField("tool_ids")(err) {
			t.Errorf("%q: the error is %v", tools, err)
		} else if tools[0] == "lok" && !strings.HasSuffix(err.Error(), `agent listener has no tool "lok"; did you mean "look"?`) {
			t.Errorf("the error is %v", err)
		}
	}
	if list, err := s.ListTurns(t.Context(), alice, store.TurnQuery{SessionID: id}); err != nil || len(list.Turns) != 0 {
		t.Errorf("there are turns: %+v, %v", list, err)
	}
}
