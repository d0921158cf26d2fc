package workflow

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/toolname"
	"github.com/agentruntime/agentruntime/spec"
)

// GestaltProvider is the only workflow provider's name for Gestalt's clients.
const GestaltProvider = "local"

// mcpPrefix is the prefix of the ids of tools of MCP servers.
const mcpPrefix = "mcp__"

// GestaltTrigger is an event trigger in Gestalt's format: a workflow with one event.
type GestaltTrigger struct {
	Match *GestaltMatch `json:"match" required:"true" doc:"Events that each start a run."`
	GestaltWork
}

// GestaltSchedule is a schedule in Gestalt's format: a workflow with one schedule.
type GestaltSchedule struct {
	Cron     string `json:"cron" required:"true" doc:"When a run starts, as in a schedule."`
	TimeZone string `json:"timezone,omitempty" default:"UTC" doc:"The IANA time zone of cron."`
	GestaltWork
}

// GestaltMatch selects events.
type GestaltMatch struct {
	Type    string `json:"type" required:"true" doc:"The exact type of the events."`
	Source  string `json:"source,omitempty" doc:"Their exact source. Any if absent."`
	Subject string `json:"subject,omitempty" doc:"Their exact subject. Any if absent."`
}

// GestaltWork is the part shared by triggers and schedules.
type GestaltWork struct {
	Provider    string              `json:"provider,omitempty" enum:"local" default:"local" doc:"The workflow provider. The runtime has one."`
	Target      GestaltTarget       `json:"target" required:"true" doc:"The work of a run."`
	Invokes     []GestaltTool       `json:"invokes,omitzero" doc:"All tools that the steps may call. A step that names another tool is an error, and an agent turn without tools may call all of them."`
	Permissions []GestaltPermission `json:"permissions,omitzero" doc:"The older form of invokes."`
	Paused      bool                `json:"paused,omitempty" doc:"Whether new runs are paused. Resumable over HTTP."`
}

// GestaltPermission is the older form of tools in invokes.
type GestaltPermission struct {
	Plugin     string   `json:"plugin" required:"true" doc:"The app."`
	Operations []string `json:"operations,omitempty" doc:"The app's operations. Defaults to the tool with the app's name."`
}

// GestaltTarget is the work of a run: steps, or a single call or turn in the older form.
type GestaltTarget struct {
	Steps  []GestaltStep `json:"steps,omitempty" max:"100" doc:"The steps of a run, in order."`
	App    *GestaltCall  `json:"app,omitempty" doc:"A single call instead of steps."`
	Plugin *GestaltCall  `json:"plugin,omitempty" doc:"The older name of app."`
	Agent  *GestaltTurn  `json:"agent,omitempty" doc:"A single turn instead of steps."`
}

// GestaltStep is one call or turn.
type GestaltStep struct {
	ID             string                     `json:"id" required:"true" pattern:"^[A-Za-z0-9_-]{1,64}$" doc:"The id by which later steps refer to the step."`
	Inputs         map[string]json.RawMessage `json:"inputs,omitempty" doc:"Named values available to the step as ${{ inputs.NAME }}."`
	App            *GestaltCall               `json:"app,omitempty" doc:"The tool that the step calls."`
	Plugin         *GestaltCall               `json:"plugin,omitempty" doc:"The older name of app."`
	Agent          *GestaltTurn               `json:"agent,omitempty" doc:"The agent that runs a turn."`
	When           *Condition                 `json:"when,omitempty" doc:"The condition for running the step."`
	Timeout        *spec.Duration             `json:"timeout,omitempty" default:"5m" doc:"Time limit of the step."`
	TimeoutSeconds float64                    `json:"timeoutSeconds,omitempty" min:"0" doc:"timeout as a number of seconds."`
	Metadata       json.RawMessage            `json:"metadata,omitempty" doc:"Data stored with the step for readers."`
}

// GestaltCall is a call of a tool.
type GestaltCall struct {
	Name      string                     `json:"name" required:"true" doc:"The app: an entry of tools."`
	Operation string                     `json:"operation,omitempty" doc:"The operation: a tool's name on an MCP server. Absent, or the app's name, for an entry that is a single tool."`
	Input     map[string]json.RawMessage `json:"input,omitempty" doc:"The arguments of the call, by name; each is a value."`
}

// GestaltTurn is a turn of an agent.
type GestaltTurn struct {
	Provider   string          `json:"provider" required:"true" doc:"The agent that runs the turn."`
	Model      string          `json:"model,omitempty" doc:"The model or pool; the agent's if absent."`
	Prompt     json.RawMessage `json:"prompt,omitempty" doc:"The input of the turn: a text, which may contain ${{ … }}, or {template: text}."`
	Messages   []Message       `json:"messages,omitempty" doc:"Messages before the prompt or instead of it."`
	Tools      []GestaltTool   `json:"tools,omitzero" doc:"The agent's tools that the turn may call. Defaults to the tools in invokes, or none."`
	Output     *Output         `json:"output,omitempty" doc:"The form of the answer."`
	SessionKey json.RawMessage `json:"sessionKey,omitempty" doc:"The name of the workflow's conversation that the turn continues. If empty, each turn has a new session."`
}

// GestaltTool names a tool.
type GestaltTool struct {
	App       string `json:"app,omitempty" doc:"The app: an entry of tools."`
	Plugin    string `json:"plugin,omitempty" doc:"The older name of app."`
	Operation string `json:"operation,omitempty" doc:"The operation, as in a call."`
}

// gestaltToolID returns the id of an app's operation: that of an MCP server's tool, or of the app
// itself if the operation is empty or has its name.
func gestaltToolID(app, operation string) string {
	if operation == "" || operation == app {
		return app
	}
	return toolname.ID.Fit(mcpPrefix + app + "__" + operation)
}

// gestaltNames returns the app and the operation of a tool.
func gestaltNames(id string) (app, operation string) {
	if rest, isMCP := strings.CutPrefix(id, mcpPrefix); isMCP {
		if app, operation, ok := strings.Cut(rest, "__"); ok {
			return app, operation
		}
	}
	return id, id
}

// Workflow converts the trigger to a workflow. The diagnostics have the paths of the trigger's
// fields. A workflow with problems is incomplete.
func (t *GestaltTrigger) Workflow(id string) (*Workflow, diag.List) {
	w, list := t.translate(id)
	w.Events = []EventTrigger{{Paused: t.Paused}}
	if m := t.Match; m != nil {
		w.Events[0].Type, w.Events[0].Source, w.Events[0].Subject = m.Type, m.Source, m.Subject
	}
	w.addWritten("events[0]", "match")
	return w, list
}

// Workflow converts the schedule to a workflow, like GestaltTrigger.Workflow.
func (s *GestaltSchedule) Workflow(id string) (*Workflow, diag.List) {
	w, list := s.translate(id)
	w.Schedules = []Schedule{{Cron: s.Cron, TimeZone: s.TimeZone, Paused: s.Paused}}
	w.addWritten("schedules[0].time_zone", "timezone")
	w.addWritten("schedules[0].cron", "cron")
	return w, list
}

// translate returns a workflow with the steps.
func (g *GestaltWork) translate(id string) (*Workflow, diag.List) {
	t := &gestaltTranslation{workflow: &Workflow{ID: id}}
	if g.Provider != "" && g.Provider != GestaltProvider {
		t.add(diag.New(diag.InvalidValue, "provider", "the workflow provider %q does not exist", clip.Text(g.Provider)).WithHint("the only one is %s", GestaltProvider))
	}
	t.readInvokes(g)
	target := &g.Target
	single := GestaltStep{ID: targetStep, App: target.App, Plugin: target.Plugin, Agent: target.Agent}
	isSingle := target.App != nil || target.Plugin != nil || target.Agent != nil
	switch {
	case isSingle && len(target.Steps) > 0:
		t.add(diag.New(diag.InvalidValue, "target", "the target has steps and a single call or turn; it can have one of them"))
	case isSingle:
		t.addStep(&single, "target")
	case len(target.Steps) == 0:
		t.add(diag.New(diag.MissingField, "target.steps", "the target has no steps"))
	}
	for i := range target.Steps {
		t.addStep(&target.Steps[i], diag.Index("target.steps", i))
	}
	return t.workflow, t.found
}

// ToSteps converts the target to steps. The paths of diagnostics begin with target.
func (g *GestaltTarget) ToSteps() ([]Step, diag.List) {
	w, list := (&GestaltWork{Target: *g}).translate(targetStep)
	return w.Steps, list
}

// gestaltTranslation translates one trigger or schedule.
type gestaltTranslation struct {
	workflow *Workflow
	// invoked are the tools that steps may call; nil if there is no limit. invokedAt is the field
	// that lists them.
	invoked   spec.Names
	invokedAt string
	found     diag.List
}

func (t *gestaltTranslation) add(d diag.Diagnostic) { t.found = append(t.found, d) }

// readInvokes collects the tools of invokes and permissions.
func (t *gestaltTranslation) readInvokes(g *GestaltWork) {
	if g.Invokes != nil {
		t.invoked, t.invokedAt = t.toolIDs("invokes", g.Invokes), "invokes"
	}
	if g.Permissions == nil {
		return
	}
	if g.Invokes != nil {
		t.add(diag.New(diag.InvalidValue, "permissions", "permissions means the same as invokes; only one of them can be given"))
	}
	t.invoked, t.invokedAt = spec.Names{}, "permissions"
	for _, p := range g.Permissions {
		if len(p.Operations) == 0 {
			t.invoked = append(t.invoked, p.Plugin)
		}
		for _, operation := range p.Operations {
			t.invoked = append(t.invoked, gestaltToolID(p.Plugin, operation))
		}
	}
}

// toolIDs returns the ids of tools at a path.
func (t *gestaltTranslation) toolIDs(path string, tools []GestaltTool) spec.Names {
	ids := spec.Names{}
	for i, tool := range tools {
		switch {
		case tool.App == "" && tool.Plugin == "":
			t.add(diag.New(diag.MissingField, diag.Join(diag.Index(path, i), "app"), "app is required"))
		case tool.App != "" && tool.Plugin != "":
			t.add(diag.New(diag.InvalidValue, diag.Join(diag.Index(path, i), "plugin"), "plugin means the same as app; only one of them can be given"))
		}
		ids = append(ids, gestaltToolID(tool.App+tool.Plugin, tool.Operation))
	}
	return ids
}

// addStep translates the step at a path.
func (t *gestaltTranslation) addStep(s *GestaltStep, path string) {
	at := diag.Index("steps", len(t.workflow.Steps))
	t.workflow.addWritten(at, path)
	step := Step{ID: s.ID, Inputs: s.Inputs, When: s.When, Timeout: s.Timeout, Metadata: s.Metadata}
	if s.TimeoutSeconds != 0 {
		if s.Timeout != nil {
			t.add(diag.New(diag.InvalidValue, diag.Join(path, "timeoutSeconds"), "timeoutSeconds means the same as timeout; only one of them can be given"))
		}
		step.Timeout = new(spec.Duration(s.TimeoutSeconds * float64(time.Second)))
		t.workflow.addWritten(diag.Join(at, "timeout"), diag.Join(path, "timeoutSeconds"))
	}
	if s.App != nil && s.Plugin != nil {
		t.add(diag.New(diag.InvalidValue, diag.Join(path, "plugin"), "plugin means the same as app; only one of them can be given"))
	}
	for field, call := range map[string]*GestaltCall{"app": s.App, "plugin": s.Plugin} {
		if call == nil {
			continue
		}
		step.Tool = &ToolCall{Name: gestaltToolID(call.Name, call.Operation), Input: call.Input}
		t.workflow.addWritten(diag.Join(at, "tool"), diag.Join(path, field))
		t.checkInvoked(diag.Join(path, field), step.Tool.Name)
	}
	if s.Agent != nil {
		step.Agent = t.turnOf(s.Agent, diag.Join(path, "agent"))
		for own, written := range map[string]string{"agent": "provider", "model_id": "model", "session_key": "sessionKey"} {
			t.workflow.addWritten(diag.Join(at, "agent."+own), diag.Join(path, "agent."+written))
		}
		if s.Agent.Tools == nil && t.invoked != nil {
			t.workflow.addWritten(diag.Join(at, "agent.tools"), t.invokedAt)
		}
	}
	t.workflow.Steps = append(t.workflow.Steps, step)
}

// turnOf translates the turn of the step at a path.
func (t *gestaltTranslation) turnOf(g *GestaltTurn, path string) *AgentTurn {
	turn := &AgentTurn{Agent: g.Provider, ModelID: g.Model, Prompt: g.Prompt, Messages: g.Messages, Output: g.Output, SessionKey: g.SessionKey}
	if g.Tools == nil {
		turn.Tools = append(spec.Names{}, t.invoked...)
		return turn
	}
	turn.Tools = t.toolIDs(diag.Join(path, "tools"), g.Tools)
	for i, id := range turn.Tools {
		t.checkInvoked(diag.Index(diag.Join(path, "tools"), i), id)
	}
	return turn
}

// checkInvoked reports a tool that invokes does not list.
func (t *gestaltTranslation) checkInvoked(path, id string) {
	if t.invoked != nil && !slices.Contains(t.invoked, id) {
		app, operation := gestaltNames(id)
		t.add(diag.New(diag.InvalidValue, path, "%s does not list operation %s of %s, which the step calls", t.invokedAt, clip.Text(operation), clip.Text(app)).
			WithHint("add it to %s, or remove %s", t.invokedAt, t.invokedAt))
	}
}
