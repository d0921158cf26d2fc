package execution_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// FuzzRestore restores arbitrary states: what is taken is exported as it was and
// does not break a turn, and what is refused leaves nothing.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"run":{"test.count":3,"gone":{"a":[1]}},"session":{"test.visits":2,"test.tags":["a"]},"written":["test.tags"]}`))
	f.Add([]byte(`{"actions":[{"key":"act","payload":{"at":1,"deep":null}},{"key":"gone"},{"key":"act","payload":"x"}]}`))
	f.Add([]byte(`{"request":{"context":[{"text":"x","key":"k"}],"params":{"temperature":1}},"hand_off":"b"}`))
	f.Add([]byte(`{"answers":[{"step":1,"ticket":{"id":"t","call_id":"c"},"resolution":{"target":"t","action":"resume","result":null}}]}`))
	f.Add([]byte(`{"run":{"test.count":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s execution.State
		if json.Unmarshal(data, &s) != nil {
			return
		}
		world := plugin(func(r *plugins.Registrar) {
			r.StateKey(count)
			r.StateKey(visits)
			r.StateKey(tags)
			plugins.HandleAction(r, "act", plugins.StepEnd, func(context.Context, *plugins.PhaseContext, entry) error { return nil })
		})
		env, errs := execution.Build(&spec.Agent{}, load(world), nil)
		if errs != nil {
			t.Fatal(errs)
		}
		e := execution.NewEngine(env, nil)
		if err := e.Restore(s); err != nil {
			if got := exported(t, e); !cmp.Equal(got, execution.State{}) {
				t.Fatalf("%v, but it restored %+v", err, got)
			}
			return
		}
		before := exported(t, e)
		again := execution.NewEngine(env, nil)
		if err := again.Restore(before); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, exported(t, again)); diff != "" {
			t.Fatal(diff)
		}
		for _, phase := range plugins.Phases() {
			if err := e.Run(t.Context(), phase); err != nil {
				t.Fatal(err)
			}
		}
	})
}
