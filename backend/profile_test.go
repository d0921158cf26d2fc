package backend_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/google/go-cmp/cmp"
)

// levels lists each dimension of a profile: its levels, and the others that each level satisfies
// besides itself and the lowest, which comes first.
var levels = map[string][]struct {
	level     backend.Level
	satisfies []backend.Level
}{
	"continuation": {
		{backend.LevelNone, nil}, {backend.ContinueInProcess, nil},
		{backend.ContinueRemote, []backend.Level{backend.ContinueInProcess}},
	},
	"decisions": {{backend.LevelNone, nil}, {backend.DecisionsDurable, nil}},
	"overrides": {
		{backend.LevelNone, nil}, {backend.OverrideParams, nil},
		{backend.OverrideLimits, []backend.Level{backend.OverrideParams}},
	},
	"budgets":     {{backend.LevelNone, nil}, {backend.BudgetsEnforced, nil}},
	"persistence": {{backend.PersistEphemeral, nil}, {backend.PersistCheckpoint, nil}},
	"transcript":  {{backend.TranscriptPrompt, nil}, {backend.TranscriptFull, nil}},
}

// dimensions are the names of a profile's fields, in order.
func dimensions() []string {
	var names []string
	for f := range reflect.TypeFor[backend.Profile]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func TestWhichLevelSatisfiesWhich(t *testing.T) {
	for i, name := range dimensions() {
		known := levels[name]
		if known == nil {
			t.Errorf("dimension %s has no levels in this test", name)
			continue
		}
		for _, have := range known {
			for _, required := range known {
				want := have.level == required.level || required.level == known[0].level
				for _, l := range have.satisfies {
					want = want || l == required.level
				}
				var p, need backend.Profile
				reflect.ValueOf(&p).Elem().Field(i).Set(reflect.ValueOf(have.level))
				reflect.ValueOf(&need).Elem().Field(i).Set(reflect.ValueOf(required.level))
				got := p.Check((*backend.Requirements)(&need))
				var mismatches []backend.Mismatch
				if !want {
					mismatches = []backend.Mismatch{{Dimension: name, Required: required.level, Actual: have.level}}
				}
				if diff := cmp.Diff(mismatches, got); diff != "" {
					t.Errorf("%s: %s against %s: %s", name, have.level, required.level, diff)
				}
			}
		}
	}
	if len(levels) != len(dimensions()) {
		t.Errorf("the test knows %d dimensions, a profile has %d", len(levels), len(dimensions()))
	}
}

func TestAllMismatchesAreNamedAtOnce(t *testing.T) {
	weakest := backend.WeakestProfile()
	need := backend.Requirements(backend.LocalProfile())
	got := weakest.Check(&need)
	var names []string
	for _, m := range got {
		names = append(names, m.Dimension)
	}
	if diff := cmp.Diff(dimensions(), names); diff != "" {
		t.Error(diff)
	}
	err := &backend.MismatchError{Agent: "far", Mismatches: got[1:3]}
	want := "the backend of agent far does not support: decisions (needs durable_resume, has none), overrides (needs params_and_limits, has none)"
	if err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
}

func TestTheLocalLoopDoesAllAndNothingIsRequiredOfAnyone(t *testing.T) {
	local, weakest := backend.LocalProfile(), backend.WeakestProfile()
	own := backend.Requirements(local)
	if got := local.Check(&own); got != nil {
		t.Errorf("the local loop cannot do what it can: %v", got)
	}
	for _, p := range []backend.Profile{weakest, {}} {
		if got := p.Check(&backend.Requirements{}); got != nil {
			t.Errorf("nothing is required, yet %v", got)
		}
	}
	least := backend.Requirements(weakest)
	if got := local.Check(&least); got != nil {
		t.Errorf("the local loop cannot do what the weakest can: %v", got)
	}
}
