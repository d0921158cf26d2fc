package permission_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// turn is one turn of an agent whose calls are judged.
type turn struct {
	t      testing.TB
	engine *execution.Engine
	// asked are the interactions of the turn's calls.
	asked []*interaction.Request
}

// begin begins a turn in a session.
func begin(t testing.TB, section string, session map[string]json.RawMessage, ceiling ...plugins.CeilingGate) *turn {
	t.Helper()
	e := execution.NewEngine(agentOf(t, section), ceiling)
	e.Context.Agent, e.Context.Stats = &spec.Agent{ID: "a"}, &plugins.Stats{}
	if err := e.Restore(execution.State{Session: session}); err != nil {
		t.Fatal(err)
	}
	return &turn{t: t, engine: e}
}

// session returns what the turn leaves for the next one.
func (u *turn) session() map[string]json.RawMessage {
	u.t.Helper()
	s := u.engine.Export()
	return s.Session
}

// grants returns what a person granted for the session.
func (u *turn) grants() string { return string(u.session()["permission.grants"]) }

// judge asks the gates about a call as the loop does.
func (u *turn) judge(call *model.ToolCall) plugins.Decision {
	u.t.Helper()
	u.engine.Context.Call = call
	d := u.engine.Gate(u.t.Context())
	switch d.Kind {
	case plugins.Allow:
		if err := u.engine.Run(u.t.Context(), plugins.BeforeToolExecute); err != nil {
			u.t.Fatal(err)
		}
	case plugins.Suspend:
		request := *d.Interaction
		request.CallID, request.Tool, request.Arguments = call.ID, call.Name, call.Arguments
		u.asked = append(u.asked, &request)
	}
	return d
}

// call judges a fresh call of a new step.
func (u *turn) call(tool, arguments string) plugins.Decision {
	u.t.Helper()
	u.engine.Context.Stats.Steps++
	u.engine.Context.Interaction, u.engine.Context.InteractionAnswer = nil, nil
	return u.judge(&model.ToolCall{ID: "c", Name: tool, Arguments: json.RawMessage(arguments)})
}

// answer goes on with the call that waits, in another process.
func (u *turn) answer(r interaction.Answer) plugins.Decision {
	u.t.Helper()
	request := u.asked[len(u.asked)-1]
	if r.Action == "" {
		r.Action = interaction.Resume
	}
	call := *u.engine.Context.Call
	if r.Arguments != nil {
		call.Arguments = r.Arguments
	}
	u.engine.Context.Interaction, u.engine.Context.InteractionAnswer = request, &r
	return u.judge(&call)
}

func yes(more string) interaction.Answer {
	return interaction.Answer{Result: json.RawMessage(`{"approved":true` + more + `}`)}
}

const forSession = `,"scope":"session"`

func TestAnInteractionSaysWhatIsAskedAndHowToAnswer(t *testing.T) {
	t.Parallel()
	u := begin(t, `{"rules":[{"tool":"bash(rm *)","scope":"once"}]}`, nil)
	for _, tt := range []struct {
		tool, arguments, message, parameters string
		good, bad                            []string
	}{
		{
			"bash", `{"command":"rm x"}`, `Agent a wants to call tool bash. By the rule "bash(rm *)" that needs your approval.`,
			`{"agent":"a","tool":"bash","rule":"bash(rm *)","scopes":["once"]}`,
			[]string{`{"approved":true}`, `{"approved":true,"scope":"once"}`, `{"approved":false,"reason":"no"}`},
			[]string{`{}`, `true`, `null`, `{"approved":"yes"}`, `{"approved":true,"scope":"session"}`, `{"approved":true,"arguments":{}}`},
		},
		{
			"other", `{}`, `Agent a wants to call tool other. No rule covers it, so it needs your approval.`,
			`{"agent":"a","tool":"other","scopes":["once","session"]}`,
			[]string{`{"approved":true,"scope":"session"}`}, []string{`{"approved":true,"scope":"forever"}`},
		},
	} {
		d := u.call(tt.tool, tt.arguments)
		if d.Kind != plugins.Suspend {
			t.Fatalf("%s: the decision is %+v", tt.tool, d)
		}
		form := d.Interaction.ResponseSchema
		want := &interaction.Request{
			ID: "perm_c", Action: "tool:PermissionConfirm", Message: tt.message, Parameters: json.RawMessage(tt.parameters),
			ResponseSchema: form, Mode: interaction.ReplayToolCall,
		}
		if diff := cmp.Diff(want, d.Interaction); diff != "" {
			t.Error(diff)
		}
		compiled, err := schema.Compile(form)
		if err != nil {
			t.Fatal(err)
		}
		for i, answer := range append(tt.good, tt.bad...) {
			found, err := compiled.ValidateJSON(t.Context(), []byte(answer))
			if err != nil || (found == nil) != (i < len(tt.good)) {
				t.Errorf("%s: %s comes to %v, %v", tt.tool, answer, found, err)
			}
		}
	}
}

func TestACallIsMadeAsThePersonSays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		r    interaction.Answer
		kind plugins.DecisionKind
		says string
	}{
		"approved":               {yes(""), plugins.Allow, ""},
		"approved once":          {yes(`,"scope":"once"`), plugins.Allow, ""},
		"approved, and changed":  {interaction.Answer{Result: json.RawMessage(`{"approved":true}`), Arguments: json.RawMessage(`{"command":"ls"}`)}, plugins.Allow, ""},
		"refused":                {interaction.Answer{Result: json.RawMessage(`{"approved":false}`)}, plugins.Block, "permission denied: a person refused this call"},
		"refused, with a reason": {interaction.Answer{Result: json.RawMessage(`{"approved":false,"reason":"not on Fridays"}`)}, plugins.Block, "permission denied: a person refused this call: not on Fridays"},
		"refused, and said why":  {interaction.Answer{Result: json.RawMessage(`{"approved":false}`), Reason: "too risky"}, plugins.Block, "permission denied: a person refused this call: too risky"},
		"cancelled":              {interaction.Answer{Action: interaction.Cancel, Result: json.RawMessage(`{"approved":true}`), Reason: "gone home"}, plugins.Block, "permission denied: a person refused this call: gone home"},
		"no answer":              {interaction.Answer{}, plugins.Block, "permission denied: the answer to the question whether this call may be made cannot be read: the key \"approved\" is required"},
		"not said":               {interaction.Answer{Result: json.RawMessage(`{}`)}, plugins.Block, "permission denied: the answer to the question whether this call may be made cannot be read: the key \"approved\" is required"},
		"something else":         {interaction.Answer{Result: json.RawMessage(`{"approved":true,"arguments":{}}`)}, plugins.Block, `permission denied: the answer to the question whether this call may be made cannot be read: the key "arguments" is unknown or has an invalid value`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := begin(t, "", nil)
			u.call("bash", `{"command":"rm x"}`)
			if d := u.answer(tt.r); d.Kind != tt.kind || d.Reason != tt.says || d.Terminate {
				t.Errorf("the decision is %+v", d)
			}
			if got := u.grants(); got != "" {
				t.Errorf("granted for good: %s", got)
			}
		})
	}
}

// TestApprovalDoesNotLiftADenial proves that a call that comes back is judged
// anew, by the rules as they are and the arguments as they are.
func TestApprovalDoesNotLiftADenial(t *testing.T) {
	t.Parallel()
	const denies = `{"rules":[{"tool":"bash"},{"tool":"bash(rm *)","behavior":"deny"},{"tool":"bash(halt)","behavior":"terminate"}]}`
	for changed, terminates := range map[string]bool{`{"command":"rm -rf /"}`: false, `{"command":"halt"}`: true} {
		u := begin(t, denies, nil)
		u.call("bash", `{"command":"ls"}`)
		r := yes(forSession)
		r.Arguments = json.RawMessage(changed)
		if d := u.answer(r); d.Kind != plugins.Block || d.Terminate != terminates {
			t.Errorf("%s: the decision is %+v", changed, d)
		}
		if got := u.grants(); got != "" {
			t.Errorf("%s: granted %s", changed, got)
		}
	}
	// The rules changed while the call waited.
	u := begin(t, `{"rules":[{"tool":"bash"}]}`, nil)
	u.call("bash", `{"command":"rm x"}`)
	later := begin(t, denies, nil)
	later.asked = u.asked
	later.engine.Context.Call, later.engine.Context.Stats.Steps = u.engine.Context.Call, 1
	if d := later.answer(yes("")); d.Kind != plugins.Block {
		t.Errorf("the decision is %+v", d)
	}
}

// TestApprovalIsOfOneCall proves that an answer lets only the call through that
// the person saw.
func TestApprovalIsOfOneCall(t *testing.T) {
	t.Parallel()
	u := begin(t, "", nil)
	u.call("bash", `{"command":"ls", "n":1}`)
	if d := u.answer(yes("")); d.Kind != plugins.Allow {
		t.Fatalf("the decision is %+v", d)
	}
	// The same call with its arguments spelt in another way: states are kept as
	// compact JSON.
	if d := u.judge(&model.ToolCall{ID: "c", Name: "bash", Arguments: json.RawMessage(`{"n":1,"command":"ls"}`)}); d.Kind != plugins.Allow {
		t.Errorf("the decision is %+v", d)
	}
	for name, call := range map[string]model.ToolCall{
		"other arguments": {ID: "c", Name: "bash", Arguments: json.RawMessage(`{"command":"rm"}`)},
		"broken ones":     {ID: "c", Name: "bash", Arguments: json.RawMessage(`{`)},
		"another tool":    {ID: "c", Name: "sh", Arguments: json.RawMessage(`{"command":"ls","n":1}`)},
	} {
		if d := u.judge(&call); d.Kind < plugins.Suspend {
			t.Errorf("%s: the decision is %+v", name, d)
		}
	}
	if d := u.call("bash", `{"command":"ls","n":1}`); d.Kind != plugins.Suspend {
		t.Errorf("a later call with the same id: the decision is %+v", d)
	}
}

func TestAGrantHoldsForTheSession(t *testing.T) {
	t.Parallel()
	const section = `{"rules":[{"tool":"git"},{"tool":"bash(git *)"},{"tool":"http","scope":"once"},{"tool":"bash(rm *)","behavior":"deny"}]}`
	u := begin(t, section, nil)
	approve := func(tool, arguments string) {
		t.Helper()
		if d := u.call(tool, arguments); d.Kind != plugins.Suspend {
			t.Fatalf("%s %s: the decision is %+v", tool, arguments, d)
		}
		if d := u.answer(yes(forSession)); d.Kind != plugins.Allow {
			t.Fatalf("%s %s: the decision is %+v", tool, arguments, d)
		}
	}
	approve("git", `{"a":1}`)
	approve("bash", `{"command":"git push"}`)
	approve("other", `{}`)
	approve("http", `{}`) // more than the rule lets a person grant
	want := `[{"agent":"a","tool":"git","rule":"git"},{"agent":"a","tool":"bash","rule":"bash(git *)"},{"agent":"a","tool":"other"}]`
	if got := u.grants(); got != want {
		t.Errorf("the grants are %s", got)
	}
	for _, next := range []*turn{u, begin(t, section, u.session())} {
		for _, tt := range []struct {
			tool, arguments string
			want            permission.Behavior
		}{
			{"git", `{"a":2}`, permission.Allow},
			{"bash", `{"command":"git pull"}`, permission.Allow},
			{"bash", `{"command":"ls"}`, permission.Ask}, // it is the default that asks
			{"bash", `{"command":"rm x"}`, permission.Deny},
			{"other", `{"x":1}`, permission.Allow},
			{"another", `{}`, permission.Ask},
			{"http", `{}`, permission.Ask},
		} {
			if got := behaviorOf(next.call(tt.tool, tt.arguments)); got != tt.want {
				t.Errorf("%s %s: got %s, want %s", tt.tool, tt.arguments, got, tt.want)
			}
		}
		if got := next.grants(); got != want {
			t.Errorf("the grants are %s", got)
		}
	}
	// Only what a person granted is stored: rules are those of the turn.
	for changed, want := range map[string]permission.Behavior{
		`{"rules":[{"tool":"git","behavior":"deny"}]}`: permission.Deny,
		`{"rules":[{"tool":"g*"}]}`:                    permission.Ask,
		`{"rules":[{"tool":"git","scope":"once"}]}`:    permission.Ask,
		`{}`: permission.Ask,
		`{"rules":[{"tool":"git"},{"tool":"*","behavior":"deny"}]}`:   permission.Deny,
		`{"rules":[{"tool":"git"},{"tool":"g*","behavior":"allow"}]}`: permission.Allow,
		`{"default_behavior":"deny"}`:                                 permission.Deny,
	} {
		next := begin(t, changed, u.session())
		if got := behaviorOf(next.call("git", `{}`)); got != want {
			t.Errorf("%s: got %s, want %s", changed, got, want)
		}
		if diff := cmp.Diff(u.session(), next.session()); diff != "" {
			t.Errorf("%s: the session lost something: %s", changed, diff)
		}
	}
}

func TestGrantsAreBounded(t *testing.T) {
	t.Parallel()
	u := begin(t, "", nil)
	for i := range 70 {
		u.call(fmt.Sprint("t", i), "{}")
		u.answer(yes(forSession))
	}
	if n := strings.Count(u.grants(), `"tool"`); n != 64 {
		t.Errorf("%d grants are kept", n)
	}
	if got := behaviorOf(u.call("t69", "{}")); got != permission.Allow {
		t.Errorf("the latest is %s", got)
	}
	if got := behaviorOf(u.call("t0", "{}")); got != permission.Ask {
		t.Errorf("the first is %s", got)
	}
}

func TestGrantsOfTurnsThatOverlapAddUp(t *testing.T) {
	t.Parallel()
	one, two := begin(t, "", nil), begin(t, "", nil)
	one.call("x", "{}")
	one.answer(yes(forSession))
	two.call("y", "{}")
	two.answer(yes(forSession))
	if err := two.engine.MergeSession(one.session()); err != nil {
		t.Fatal(err)
	}
	if got := two.grants(); got != `[{"agent":"a","tool":"x"},{"agent":"a","tool":"y"}]` {
		t.Errorf("the grants are %s", got)
	}
}

// TestADelegateIsAskedForByTheAgentAbove proves that the rule of an agent holds
// for its delegates, that one approval does for both, and that the agent above
// grants nothing for good.
func TestADelegateIsAskedForByTheAgentAbove(t *testing.T) {
	t.Parallel()
	above := gateOf(t, `{"rules":[{"tool":"bash"}]}`)
	for name, tt := range map[string]struct{ section, grants string }{
		"that may":     {`{"default_behavior":"allow"}`, ""},
		"that asks":    {`{"rules":[{"tool":"bash(*)"}]}`, `[{"agent":"a","tool":"bash","rule":"bash(*)"}]`},
		"by its rules": {``, `[{"agent":"a","tool":"bash"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := begin(t, tt.section, nil, above)
			if d := u.call("bash", `{"command":"ls"}`); d.Kind != plugins.Suspend {
				t.Fatalf("the decision is %+v", d)
			}
			if d := u.answer(yes(forSession)); d.Kind != plugins.Allow {
				t.Errorf("the decision is %+v", d)
			}
			if d := u.call("bash", `{"command":"ls"}`); d.Kind != plugins.Suspend {
				t.Errorf("the next call: the decision is %+v", d)
			}
			if strings.Contains(name, "may") && u.grants() != "" {
				t.Errorf("the grants are %s", u.grants())
			}
		})
	}
}

// TestPropertyApprovalLetsThroughOnlyWhatIsAsked proves that whatever a person
// says, a call is made only if the rules allow it or ask about it.
func TestPropertyApprovalLetsThroughOnlyWhatIsAsked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		list := rules().Draw(rt, "rules")
		text, err := json.Marshal(map[string]any{"rules": append([]generated{}, list...)})
		if err != nil {
			rt.Fatal(err)
		}
		u := begin(t, string(text), nil)
		for range rapid.IntRange(1, 4).Draw(rt, "calls") {
			tool, args := call(rt)
			fresh := behaviorOf(begin(t, string(text), nil).call(tool, args))
			switch u.call(tool, args).Kind {
			case plugins.Allow:
				if fresh == permission.Ask && u.grants() == "" || fresh == permission.Deny || fresh == permission.Terminate {
					rt.Fatalf("%s: %s %s is let through, but is %s", text, tool, args, fresh)
				}
			case plugins.Suspend:
				if fresh != permission.Ask {
					rt.Fatalf("%s: %s %s is asked about, but is %s", text, tool, args, fresh)
				}
				_, changed := call(rt)
				r := yes(rapid.SampledFrom([]string{"", forSession}).Draw(rt, "scope"))
				r.Arguments = json.RawMessage(changed)
				got := u.answer(r).Kind == plugins.Allow
				judged := behaviorOf(begin(t, string(text), nil).call(tool, changed))
				if got && judged != permission.Allow && judged != permission.Ask {
					rt.Fatalf("%s: %s %s is approved, but is %s", text, tool, changed, judged)
				}
			}
		}
	})
}

// FuzzAnswer gives arbitrary answers: only one that says so approves.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"approved":true}`, `{"approved":false}`, `{"Approved":true}`, `{"approved":true,"scope":"session"}`, `true`, `[]`, `{"approved":true}x`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		u := begin(t, "", nil)
		u.call("bash", "{}")
		if u.answer(interaction.Answer{Result: json.RawMessage(answer)}).Kind != plugins.Allow {
			return
		}
		var said map[string]any
		if err := json.Unmarshal([]byte(answer), &said); err != nil {
			t.Fatalf("%q approves: %v", answer, err)
		}
		approves := false
		for key, v := range said {
			approves = approves || key == "approved" && v == true
		}
		if !approves {
			t.Fatalf("%q approves", answer)
		}
	})
}
