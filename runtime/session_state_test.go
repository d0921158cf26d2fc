package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sets returns a change to a value.
func sets(value string) func(json.RawMessage) (json.RawMessage, error) {
	return func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(value), nil }
}

// changing runs a turn in which a tool is handed the session.
func changing(t *testing.T, req runtime.Request, change func(s tools.Session)) (*runtime.Result, *turntest.Events) {
	t.Helper()
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"a": {turntest.Calls("c", "change", `{}`), {Text: "done"}}}), spec.Agent{ID: "a"}).
		WithTool("change", turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
			change(c.Session)
			return tools.TextResult("changed"), nil
		})))
	var seen turntest.Events
	got, err := rt.Run(t.Context(), req, &seen)
	if err != nil {
		t.Fatal(err)
	}
	turntest.CheckLog(t, seen.List)
	return got, &seen
}

func TestTheFirstPatchOfATurnIsTheWholeDocument(t *testing.T) {
	req := runtime.Prompt("a", "go")
	req.Custom = json.RawMessage(`{"a":1,"b":[1,2,12345678901234567890]}`)
	got, seen := changing(t, req, func(s tools.Session) {
		for _, value := range []string{
			`{"b":[1,2,12345678901234567890],"a":1.0}`,                              // another form of the number
			`{"a":1.0,"b":[1,2,12345678901234567890]}`,                              // another order of the members
			`{"a":1.0,"b":[1,12345678901234567891],"c/d~":null}`, `["x"]`, ` null `, // other documents
		} {
			if err := s.UpdateCustom(sets(value)); err != nil {
				t.Error(err)
			}
		}
	})
	op := func(op, path, value string) event.PatchOperation {
		return event.PatchOperation{Op: op, Path: path, Value: json.RawMessage(value)}
	}
	want := []*event.CustomPatch{
		{Patch: []event.PatchOperation{op("replace", "", `{"b":[1,2,12345678901234567890],"a":1.0}`)}},
		{Patch: []event.PatchOperation{{Op: "remove", Path: "/b/2"}, op("replace", "/b/1", `12345678901234567891`), op("add", "/c~1d~0", `null`)}},
		{Patch: []event.PatchOperation{op("replace", "", `["x"]`)}},
		{Patch: []event.PatchOperation{op("replace", "", `null`)}},
	}
	if diff := cmp.Diff(want, seen.Patches()); diff != "" {
		t.Error(diff)
	}
	if got.Custom != nil {
		t.Errorf("the turn leaves %s", got.Custom)
	}
}

func TestAChangeThatIsNoneIsNotShown(t *testing.T) {
	failed := errors.New("no")
	req := runtime.Prompt("a", "go")
	req.Custom = json.RawMessage(`{"a":1}`)
	got, seen := changing(t, req, func(s tools.Session) {
		if err := s.UpdateCustom(func(custom json.RawMessage) (json.RawMessage, error) {
			custom[1] = 'x' // a copy
			return nil, failed
		}); !errors.Is(err, failed) {
			t.Errorf("a change that fails gives %v", err)
		}
		if err := s.UpdateCustom(func(custom json.RawMessage) (json.RawMessage, error) { return custom, nil }); err != nil {
			t.Error(err)
		}
		for _, bad := range []string{`{`, "\"\xff\"", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), `"` + strings.Repeat("x", 5<<20) + `"`} {
			if err := s.UpdateCustom(sets(bad)); err == nil {
				t.Errorf("the state may become %.20s", bad)
			}
		}
	})
	if len(seen.Patches()) != 0 || string(got.Custom) != `{"a":1}` {
		t.Errorf("%d patches, the turn leaves %s", len(seen.Patches()), got.Custom)
	}
}

func TestHooksSeeTheSessionAndChangeIt(t *testing.T) {
	req := runtime.Prompt("a", "go")
	req.SnapshotID, req.ParentSnapshotID = "next", "before"
	hooks := turntest.Plugin(func(r *plugins.Registrar) {
		r.Hook(plugins.StepEnd, func(_ context.Context, p *plugins.PhaseContext) error {
			return p.Session.UpdateCustom(sets(fmt.Sprintf("%q", p.Session.ParentSnapshotID()+">"+p.Session.SnapshotID())))
		})
	})
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"a": {{Text: "done"}}}), spec.Agent{ID: "a", PluginIDs: []string{"p"}}).WithPlugin("p", hooks))
	var seen turntest.Events
	got, err := rt.Run(t.Context(), req, &seen)
	if err != nil || string(got.Custom) != `"before>next"` || len(seen.Patches()) != 1 {
		t.Errorf("%s, %v, %v", got.Custom, err, seen.Types())
	}
}

func TestATurnThatFailsLeavesTheStateAsItWas(t *testing.T) {
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"a": {turntest.Calls("c", "change", `{}`)}}), spec.Agent{ID: "a"}).
		WithTool("change", turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
			return tools.TextResult("changed"), c.Session.UpdateCustom(sets(`2`))
		})))
	req := runtime.Prompt("a", "go")
	req.Custom = json.RawMessage(`1`)
	if got, err := rt.Run(t.Context(), req, nil); err == nil || string(got.Custom) != "1" {
		t.Errorf("the turn leaves %s, %v", got.Custom, err)
	}
}

func TestTheSessionIsClosedBehindTheTurn(t *testing.T) {
	var late tools.Session
	hooks := turntest.Plugin(func(r *plugins.Registrar) {
		r.Hook(plugins.RunEnd, func(_ context.Context, p *plugins.PhaseContext) error {
			late = p.Session
			return nil
		})
	})
	var inTool tools.Session
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"a": {turntest.Calls("c", "leak", `{}`), {Text: "done"}}}), spec.Agent{ID: "a", PluginIDs: []string{"p"}}).
		WithPlugin("p", hooks).WithTool("leak", turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
		inTool = c.Session
		return tools.TextResult(""), nil
	})))
	if _, err := rt.Run(t.Context(), runtime.Prompt("a", "go"), nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range []tools.Session{late, inTool} {
		if err := s.UpdateCustom(sets(`1`)); err == nil {
			t.Error("the state changed after the turn")
		}
		if _, err := s.KeepArtifact(tools.Artifact{}); err == nil {
			t.Error("an artifact was kept after the turn")
		}
	}
}

func TestAnArtifactTakesThePlaceOfTheOneWithItsName(t *testing.T) {
	req := runtime.Prompt("a", "go")
	req.Artifacts = []tools.Artifact{{ID: "old", Name: "plan", Size: 3}, {ID: "other", Size: 1}}
	got, seen := changing(t, req, func(s tools.Session) {
		data := []byte("abc")
		for _, a := range []tools.Artifact{{Name: "plan", Data: data}, {Data: []byte("x")}, {Data: []byte("y")}, {ID: "z", Name: "plan", MediaType: "text/plain", Data: []byte("zz"), Metadata: json.RawMessage(`{"k":1}`)}} {
			if _, err := s.KeepArtifact(a); err != nil {
				t.Error(err)
			}
		}
		data[0] = 'X'
		if _, err := s.KeepArtifact(tools.Artifact{Metadata: json.RawMessage(`{`)}); err == nil {
			t.Error("metadata that is no JSON is kept")
		}
		if _, err := s.KeepArtifact(tools.Artifact{Data: make([]byte, 65<<20)}); err == nil {
			t.Error("65 MiB are kept")
		}
		held := s.Artifacts()
		if len(held) != 4 || held[0].ID != "z" || held[0].Size != 2 || held[0].Data != nil || held[1].ID != "other" || held[2].ID == held[3].ID {
			t.Errorf("the session holds %+v", held)
		}
	})
	if len(got.Artifacts) != 3 || got.Artifacts[2].ID != "z" || string(got.Artifacts[2].Data) != "zz" || string(got.Artifacts[0].Data) != "x" {
		t.Errorf("the turn made %+v", got.Artifacts)
	}
	var shown []event.Artifact
	for i := range seen.List {
		if d, ok := seen.List[i].Data.(*event.Artifact); ok {
			shown = append(shown, *d)
		}
	}
	if len(shown) != 4 || shown[3] != (event.Artifact{ID: "z", Name: "plan", MediaType: "text/plain", Size: 2}) {
		t.Errorf("the events show %+v", shown)
	}
}

func TestADelegateHasAStateOfItsOwnAndTheArtifactsOfItsRoot(t *testing.T) {
	rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{
		"a": {turntest.AsksAgent("sub"), {Text: "done"}}, "sub": {turntest.Calls("c", "change", `{}`), {Text: "helped"}},
	}), spec.Agent{ID: "a", Delegates: []string{"sub"}}, spec.Agent{ID: "sub"}).
		WithTool("change", turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
			if custom := c.Session.Custom(); custom != nil {
				t.Errorf("the delegate sees %s", custom)
			}
			if held := c.Session.Artifacts(); len(held) != 1 || held[0].ID != "old" {
				t.Errorf("the delegate sees %+v", held)
			}
			_, err := c.Session.KeepArtifact(tools.Artifact{ID: "new"})
			return tools.TextResult(""), errors.Join(err, c.Session.UpdateCustom(sets(`2`)))
		})))
	req := runtime.Prompt("a", "go")
	req.Custom, req.Artifacts = json.RawMessage(`1`), []tools.Artifact{{ID: "old"}}
	var seen turntest.Events
	got, err := rt.Run(t.Context(), req, &seen)
	if err != nil || string(got.Custom) != "1" || len(got.Artifacts) != 1 || got.Artifacts[0].ID != "new" || len(seen.Patches()) != 0 {
		t.Errorf("the turn leaves %s and %+v, %v", got.Custom, got.Artifacts, err)
	}
	shown := 0
	for _, kind := range seen.Types() {
		if kind == event.TypeArtifact {
			shown++
		}
	}
	if shown != 1 {
		t.Errorf("%d artifacts are shown", shown)
	}
}

// drawDocument draws a document with some levels, whose root is an object or a
// list: appliers of patches differ about others.
func drawDocument(t *rapid.T, levels int) any {
	return drawValue(t, levels, []string{"object", "list"})
}

func drawValue(t *rapid.T, depth int, kinds []string) any {
	all := []string{"object", "list", "text", "number", "null", "bool"}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "object":
		object := make(map[string]any)
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			if depth > 0 {
				object[rapid.SampledFrom([]string{"a", "b", "c/d", "~", "0", "ü"}).Draw(t, "name")] = drawValue(t, depth-1, all)
			}
		}
		return object
	case "list":
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			if depth > 0 {
				list = append(list, drawValue(t, depth-1, all))
			}
		}
		return list
	case "text":
		return rapid.SampledFrom([]string{"", "x", "<&>\u2028"}).Draw(t, "text")
	case "number":
		return rapid.IntRange(0, 2).Draw(t, "number")
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	default:
		return nil
	}
}

func TestThePatchesOfATurnLeadToItsState(t *testing.T) {
	var values []string
	rt := turntest.Build(t, turntest.WithAgents(&turntest.Answerer{Answer: func(_ context.Context, _ string, n int) turntest.Answer {
		if n%2 == 0 {
			return turntest.Calls("c", "change", `{}`)
		}
		return turntest.Answer{Text: "done"}
	}}, spec.Agent{ID: "a"}).WithTool("change", turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
		for _, value := range values {
			if err := c.Session.UpdateCustom(sets(value)); err != nil {
				return tools.Result{}, err
			}
		}
		return tools.TextResult(""), nil
	})))
	rapid.Check(t, func(t *rapid.T) {
		values = nil
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			value, err := json.Marshal(drawDocument(t, 3))
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, string(value))
		}
		req := runtime.Prompt("a", "go")
		req.Custom = json.RawMessage(`{"found":[1,2,3]}`)
		var seen turntest.Events
		got, err := rt.Run(context.Background(), req, &seen)
		if err != nil {
			t.Fatal(err)
		}
		document := `{"found":[1,2,3]}`
		for _, d := range seen.Patches() {
			for _, op := range d.Patch {
				if op.Op != "add" && op.Op != "remove" && op.Op != "replace" {
					t.Errorf("the operation %s", op.Op)
				}
			}
			document = patched(t, document, d)
		}
		if !sameDocument(t, document, string(got.Custom)) {
			t.Errorf("the patches lead to %s, the state is %s", document, got.Custom)
		}
	})
}

func TestChangesFromManySidesAreAllMadeAndShownInOrder(t *testing.T) {
	req := runtime.Prompt("a", "go")
	req.Custom = json.RawMessage(`{"n":0}`)
	got, seen := changing(t, req, func(s tools.Session) {
		var sides sync.WaitGroup
		for range 8 {
			sides.Go(func() {
				for range 25 {
					if err := s.UpdateCustom(func(custom json.RawMessage) (json.RawMessage, error) {
						var v struct {
							N int `json:"n"`
						}
						err := json.Unmarshal(custom, &v)
						return fmt.Appendf(nil, `{"n":%d}`, v.N+1), err
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		sides.Wait()
	})
	if string(got.Custom) != `{"n":200}` {
		t.Errorf("the turn leaves %s", got.Custom)
	}
	for i, d := range seen.Patches()[1:] {
		if want := fmt.Sprint(i + 2); string(d.Patch[0].Value) != want {
			t.Fatalf("patch %d leads to %s, want %s", i+2, d.Patch[0].Value, want)
		}
	}
}
