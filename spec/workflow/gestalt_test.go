package workflow

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seedTrigger is the trigger of Gestalt's documentation.
const seedTrigger = `{"provider":"local","match":{"type":"roadmap.item.updated","source":"roadmap","subject":"item"},
"target":{"steps":[{"id":"summarize","agent":{"provider":"simple","model":"fast","prompt":"Summarize the updated roadmap item.","tools":[{"app":"roadmap","operation":"items.get"}]}}]},
"invokes":[{"app":"roadmap","operation":"items.get"}]}`

func translateTrigger(t *testing.T, text string) (*Workflow, []string) {
	t.Helper()
	var trigger GestaltTrigger
	if err := json.Unmarshal([]byte(text), &trigger); err != nil {
		t.Fatal(err)
	}
	w, found := trigger.Workflow("w")
	var problems []string
	for _, d := range append(found, w.Validate()...) {
		problems = append(problems, d.Path+": "+d.Message)
	}
	return w, problems
}

func TestATriggerOfGestaltIsAnOrdinaryWorkflow(t *testing.T) {
	w, problems := translateTrigger(t, seedTrigger)
	if problems != nil {
		t.Fatal(problems)
	}
	got, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"w","events":[{"type":"roadmap.item.updated","source":"roadmap","subject":"item"}],"steps":[{"id":"summarize","agent":{"agent":"simple","model_id":"fast",` +
		`"prompt":"Summarize the updated roadmap item.","tools":["mcp__roadmap__items_get_a687b19c"]}}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if !w.FitsGestalt() {
		t.Error("the workflow does not fit the spelling that it comes from")
	}
}

// TestFieldsOfGestaltAreCarried changes one field at a time.
func TestFieldsOfGestaltAreCarried(t *testing.T) {
	const agent = `"provider":"simple","prompt":"p"`
	step := func(fields string) string {
		return `{"match":{"type":"t"},"target":{"steps":[{"id":"s",` + fields + `}]}}`
	}
	for name, tt := range map[string]struct{ in, want string }{
		"match.type":            {`{"match":{"type":"zeta"},"target":{"agent":{` + agent + `}}}`, `"type":"zeta"`},
		"match.source":          {`{"match":{"type":"t","source":"zeta"},"target":{"agent":{` + agent + `}}}`, `"source":"zeta"`},
		"match.subject":         {`{"match":{"type":"t","subject":"zeta"},"target":{"agent":{` + agent + `}}}`, `"subject":"zeta"`},
		"paused":                {`{"match":{"type":"t"},"paused":true,"target":{"agent":{` + agent + `}}}`, `"paused":true`},
		"target.agent":          {`{"match":{"type":"t"},"target":{"agent":{"provider":"zeta","prompt":"p"}}}`, `"id":"target","agent":{"agent":"zeta"`},
		"target.plugin":         {`{"match":{"type":"t"},"target":{"plugin":{"name":"zeta","operation":"zeta"}}}`, `"tool":{"name":"zeta"}`},
		"target.app":            {`{"match":{"type":"t"},"target":{"app":{"name":"zeta"}}}`, `"tool":{"name":"zeta"}`},
		"steps.inputs":          {step(`"inputs":{"zeta":1},"agent":{` + agent + `}`), `"inputs":{"zeta":1}`},
		"steps.app":             {step(`"app":{"name":"zeta","operation":"eta"}`), `"tool":{"name":"mcp__zeta__eta"}`},
		"steps.plugin":          {step(`"plugin":{"name":"zeta"}`), `"tool":{"name":"zeta"}`},
		"steps.app.input":       {step(`"app":{"name":"a","input":{"zeta":1}}`), `"input":{"zeta":1}`},
		"steps.when":            {step(`"when":{"value":"${{ input.x }}","equals":1},"agent":{` + agent + `}`), `"when":{"value":"${{ input.x }}","equals":1}`},
		"steps.timeout":         {step(`"timeout":"7s","agent":{` + agent + `}`), `"timeout":"7s"`},
		"steps.timeoutSeconds":  {step(`"timeoutSeconds":7,"agent":{` + agent + `}`), `"timeout":"7s"`},
		"steps.metadata":        {step(`"metadata":{"zeta":1},"agent":{` + agent + `}`), `"metadata":{"zeta":1}`},
		"agent.model":           {step(`"agent":{"model":"zeta",` + agent + `}`), `"model_id":"zeta"`},
		"agent.sessionKey":      {step(`"agent":{"sessionKey":"zeta",` + agent + `}`), `"session_key":"zeta"`},
		"agent.messages":        {step(`"agent":{"messages":[{"role":"user","text":"zeta"}],"provider":"simple"}`), `"messages":[{"role":"user","text":"zeta"}]`},
		"agent.output":          {step(`"agent":{"output":{"structured":{"schema":{"type":"object"}}},` + agent + `}`), `"schema":{"type":"object"}`},
		"agent.tools":           {step(`"agent":{"tools":[{"app":"zeta"},{"plugin":"eta","operation":"theta"}],` + agent + `}`), `"tools":["zeta","mcp__eta__theta"]`},
		"agent without tools":   {step(`"agent":{` + agent + `}`), `"tools":[]`},
		"invokes":               {`{"match":{"type":"t"},"invokes":[{"app":"zeta"}],"target":{"agent":{` + agent + `}}}`, `"tools":["zeta"]`},
		"permissions":           {`{"match":{"type":"t"},"permissions":[{"plugin":"zeta","operations":["eta"]}],"target":{"agent":{` + agent + `}}}`, `"tools":["mcp__zeta__eta"]`},
		"permissions of an app": {`{"match":{"type":"t"},"permissions":[{"plugin":"zeta"}],"target":{"agent":{` + agent + `}}}`, `"tools":["zeta"]`},
	} {
		w, problems := translateTrigger(t, tt.in)
		got, err := json.Marshal(w)
		if err != nil || problems != nil || !strings.Contains(string(got), tt.want) {
			t.Errorf("%s: %s, %v, %v; want %s", name, got, problems, err, tt.want)
		}
		if !w.FitsGestalt() {
			t.Errorf("%s: the workflow does not fit the spelling that it comes from", name)
		}
	}
}

func TestProblemsHaveThePathsOfTheirSpelling(t *testing.T) {
	step := func(fields string) string {
		return `{"match":{"type":"t"},"target":{"steps":[{"id":"s",` + fields + `}]}}`
	}
	for in, want := range map[string]string{
		`{"match":{"type":""},"target":{"agent":{"provider":"a","prompt":"p"}}}`:                                          "match.type: ",
		`{"match":{"type":"t"},"provider":"temporal","target":{"agent":{"provider":"a","prompt":"p"}}}`:                   "provider: ",
		`{"match":{"type":"t"},"target":{}}`:                                                                              "target.steps: ",
		`{"match":{"type":"t"},"target":{"agent":{"prompt":"p"}}}`:                                                        "target.agent.provider: ",
		`{"match":{"type":"t"},"target":{"agent":{"provider":"a","prompt":"p"},"steps":[{"id":"s","app":{"name":"a"}}]}}`: "target: ",
		step(`"agent":{"prompt":"p"}`):                                                                                    "target.steps[0].agent.provider: ",
		step(`"agent":{"provider":"a"}`):                                                                                  "target.steps[0].agent.prompt: ",
		step(`"agent":{"provider":"a","prompt":"${{ steps.none.outputs }}"}`):                                             "target.steps[0].agent.prompt: ",
		step(`"agent":{"provider":"a","prompt":"p","sessionKey":1}`):                                                      "target.steps[0].agent.sessionKey: ",
		step(`"agent":{"provider":"a","prompt":"p","tools":[{}]}`):                                                        "target.steps[0].agent.tools[0].app: ",
		step(`"app":{"name":""}`):                                                                                         "target.steps[0].app.name: ",
		step(`"plugin":{"name":""}`):                                                                                      "target.steps[0].plugin.name: ",
		step(`"app":{"name":"a"},"plugin":{"name":"a"}`):                                                                  "target.steps[0].plugin: ",
		step(`"app":{"name":"a","input":{"x":"${{ inputs.none }}"}}`):                                                     "target.steps[0].app.input.x: ",
		step(`"timeoutSeconds":-1,"app":{"name":"a"}`):                                                                    "target.steps[0].timeoutSeconds: ",
		step(`"when":{"value":"x","equals":[]},"app":{"name":"a"}`):                                                       "target.steps[0].when.equals: ",
		strings.Replace(seedTrigger, `"invokes":[{"app":"roadmap"`, `"invokes":[{"app":"map"`, 1):                         "target.steps[0].agent.tools[0]: ",
	} {
		if _, problems := translateTrigger(t, in); !strings.HasPrefix(strings.Join(problems, "\n"), want) {
			t.Errorf("%s has the problems %q; want %s", in, problems, want)
		}
	}
}

func TestAWorkflowWithOtherFieldsDoesNotFitGestalt(t *testing.T) {
	for field, change := range map[string]func(*Workflow){
		"retry":       func(w *Workflow) { w.Steps[0].Retry = &Retry{MaxAttempts: 2} },
		"concurrency": func(w *Workflow) { w.Concurrency = &Concurrency{Limit: 1} },
		"on_wait":     func(w *Workflow) { w.OnWait = FailOnWait },
		"all tools":   func(w *Workflow) { w.Steps[0].Agent.Tools = nil },
		"approval": func(w *Workflow) {
			w.Steps[0].Agent, w.Steps[0].Tool = nil, &ToolCall{Name: "a", Approval: true}
		},
		"two events": func(w *Workflow) { w.Events = append(w.Events, EventTrigger{Type: "u"}) },
	} {
		w, _ := translateTrigger(t, seedTrigger)
		if change(w); w.FitsGestalt() {
			t.Errorf("a workflow with %s fits", field)
		}
	}
}

// TestNoToolsStayNoTools holds that a stored workflow keeps the difference between no tools and
// all tools.
func TestNoToolsStayNoTools(t *testing.T) {
	w, _ := translateTrigger(t, `{"match":{"type":"t"},"target":{"agent":{"provider":"a","prompt":"p","tools":[]}}}`)
	stored, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var read Workflow
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	if tools := read.Steps[0].Agent.Tools; tools == nil || len(tools) != 0 {
		t.Errorf("after storing, the turn may call %v", tools)
	}
}
