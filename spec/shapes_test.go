package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A list of names knows whether it was written: null and [] allow nothing, an
// absent one says nothing. A round trip keeps the difference.
func TestNamesTellAbsentFromEmpty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		names spec.Names
		again string
	}{
		`{"id":"a"}`:                           {nil, `{"id":"a"}`},
		`{"id":"a","allowed_tools":null}`:      {spec.Names{}, `{"id":"a","allowed_tools":[]}`},
		`{"id":"a","allowed_tools":[]}`:        {spec.Names{}, `{"id":"a","allowed_tools":[]}`},
		`{"id":"a","allowed_tools":["x","y"]}`: {spec.Names{"x", "y"}, `{"id":"a","allowed_tools":["x","y"]}`},
	} {
		var a spec.Agent
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want.names, a.AllowedTools); diff != "" {
			t.Errorf("%s: names (-want +got):\n%s", text, diff)
		}
		again, err := json.Marshal(&a)
		if err != nil || string(again) != want.again {
			t.Errorf("%s comes back as %s, %v", text, again, err)
		}
	}
	var n spec.Names
	if err := json.Unmarshal([]byte(`"x"`), &n); err == nil {
		t.Error("a text was taken for a list")
	}
}

func TestDurationsAreWrittenAsInGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := spec.Duration(rapid.Int64().Draw(t, "nanoseconds"))
		data, err := json.Marshal(d)
		if err != nil || string(data) != `"`+time.Duration(d).String()+`"` {
			t.Fatalf("%d is written %s, %v", d, data, err)
		}
		var again spec.Duration
		if err := json.Unmarshal(data, &again); err != nil || again != d || again.Std() != time.Duration(d) {
			t.Fatalf("%s is read as %s, %v", data, again, err)
		}
	})
	for _, text := range []string{`10`, `"10"`, `"10 s"`, `""`, `"1y"`, `true`, `{}`} {
		var d spec.Duration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s was taken for %s", text, d)
		}
	}
}

func TestEffortIsALevelOrABudget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		want  spec.Effort
		shown string
		fault string
	}{
		{`"low"`, spec.Effort{Level: "low"}, "low", ""},
		{`"none"`, spec.Effort{Level: "none"}, "none", ""},
		{`50`, spec.Effort{Percent: 50}, "50", ""},
		{`0`, spec.Effort{Level: "off"}, "off", ""},
		{`101`, spec.Effort{Percent: 101}, "101", "invalid-value : reasoning_effort is 101; as a number it must lie between 0 and 100"},
		{`-1`, spec.Effort{Percent: -1}, "-1", "invalid-value : reasoning_effort is -1; as a number it must lie between 0 and 100"},
		{`100`, spec.Effort{Percent: 100}, "100", ""},
		{`{"budget":2048}`, spec.Effort{Budget: 2048}, "budget 2048", ""},
		{`"hgih"`, spec.Effort{Level: "hgih"}, "hgih", `invalid-value : reasoning_effort is "hgih"; allowed are off, low, medium, high, max, a number from 0 to 100 and {budget: tokens}`},
		{`{"budget":-1}`, spec.Effort{Budget: -1}, "budget -1", "invalid-value budget: budget is -1; it must be a positive number of tokens"},
		{`{}`, spec.Effort{}, "budget 0", "invalid-value budget: budget is 0; it must be a positive number of tokens"},
	} {
		var e spec.Effort
		if err := json.Unmarshal([]byte(tt.text), &e); err != nil || e != tt.want || e.String() != tt.shown {
			t.Errorf("%s is read as %+v (%s), %v", tt.text, e, e, err)
		}
		if got := strings.Join(faults(e.Validate()), "; "); got != tt.fault {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.fault)
		}
		data, err := json.Marshal(e)
		var again spec.Effort
		if err != nil || json.Unmarshal(data, &again) != nil || again != e {
			t.Errorf("%s comes back as %s, %v", tt.text, data, err)
		}
	}
	for _, text := range []string{`3.5`, `true`, `[]`, `{"budget":"x"}`} {
		var e spec.Effort
		if err := json.Unmarshal([]byte(text), &e); err == nil {
			t.Errorf("%s was taken for %+v", text, e)
		}
	}
	for _, level := range spec.EffortLevels() {
		if list := (spec.Effort{Level: level}).Validate(); list != nil {
			t.Errorf("level %s: %v", level, list)
		}
	}
}

func TestEffortHasALevelAndAShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		effort   spec.Effort
		standard string
		share    int
		known    bool
	}{
		{spec.Effort{Level: "off"}, "off", 0, true},
		{spec.Effort{Level: "none"}, "off", 0, true},
		{spec.EffortPercent(0), "off", 0, true},
		{spec.Effort{Level: "low"}, "low", 30, true},
		{spec.Effort{Level: "medium"}, "medium", 50, true},
		{spec.Effort{Level: "high"}, "high", 80, true},
		{spec.Effort{Level: "max"}, "max", 100, true},
		{spec.EffortPercent(1), "low", 1, true},
		{spec.EffortPercent(35), "low", 35, true},
		{spec.EffortPercent(36), "medium", 36, true},
		{spec.EffortPercent(65), "medium", 65, true},
		{spec.EffortPercent(66), "high", 66, true},
		{spec.EffortPercent(100), "high", 100, true},
		{spec.Effort{Budget: 2048}, "", 0, false},
	} {
		share, known := tt.effort.Share()
		if got := tt.effort.Standard(); got != tt.standard || share != tt.share || known != tt.known {
			t.Errorf("%s is %q, %d %% (%v), want %q, %d %% (%v)", tt.effort, got, share, known, tt.standard, tt.share, tt.known)
		}
	}
}
