// Package evalcase turns stored turns into cases of evals. It knows the text of a case, but not how
// a case is run, so that a server can offer cases without linking what runs them.
package evalcase

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/model"
)

// Turn is a stored turn, the source for a case.
type Turn struct {
	// AgentID is the agent that began the turn. FinalAgent held the conversation at the end; empty
	// means AgentID.
	AgentID, FinalAgent string
	Status              event.Status
	Input               []model.Message
	// Variables are the names of the turn's variables, whose values are not readable.
	Variables []string
	Events    []event.Event
}

// Draft is a case made from stored turns, with the results of their tools.
type Draft struct {
	ID string
	// Replies are the recorded results of the tools, in the order of their calls.
	Replies []ToolReply
	// Unknown describes the variables of the turns whose values must be added to the case.
	Unknown []string

	agent   string
	script  json.RawMessage
	tools   map[string]bool
	answers []answer
	turns   []caseTurn
}

// ToolReply is the recorded result of a call.
type ToolReply struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    string          `json:"result"`
	IsError   bool            `json:"is_error,omitempty"`
}

// answer answers the requests of a tool: an approval, or otherwise a question.
type answer struct {
	tool    string
	approve *bool
	value   json.RawMessage
}

// caseTurn is a turn of a case with its expectations.
type caseTurn struct {
	prompt            string
	variables, script json.RawMessage
	status            string
	// text is the expected text; nil expects none.
	text  *string
	calls []string
}

// Error reports a turn that cannot become a case.
type Error struct{ Reason string }

// Error returns the reason.
func (e *Error) Error() string { return e.Reason }

func draftError(format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...)}
}

// ids are the IDs of cases, which are also names of files.
var ids = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`)

// IsID reports whether a text can be the ID of a case.
func IsID(text string) bool { return ids.MatchString(text) }

// New returns a case that replays a conversation with scripted model answers and recorded tool
// results. It expects the status, calls and text of the last turn. The error is an *Error.
func New(id string, turns ...*Turn) (*Draft, error) {
	if len(turns) == 0 {
		return nil, draftError("there is no turn")
	}
	if !IsID(id) {
		return nil, draftError("%q cannot be the ID of a case", id)
	}
	d := &Draft{ID: id, agent: turns[0].AgentID, tools: make(map[string]bool)}
	for n, t := range turns {
		if last := n == len(turns)-1; !last && t.Status != event.StatusSucceeded {
			return nil, draftError("turn %d of its session ended as %s, and a case cannot continue from that", n+1, t.Status)
		}
		if t.Status == event.StatusCanceled {
			return nil, draftError("the turn was canceled, which a case cannot repeat")
		}
		if n > 0 && t.AgentID != cmp.Or(turns[n-1].FinalAgent, turns[n-1].AgentID) {
			return nil, draftError("turn %d of its session was for agent %s, which did not have the conversation", n+1, t.AgentID)
		}
		turn := caseTurn{status: string(t.Status)}
		for i := range t.Input {
			if t.Input[i].Role != model.RoleUser {
				return nil, draftError("the input has a message of role %s; only messages of the user become a case", t.Input[i].Role)
			}
			for _, part := range t.Input[i].Parts {
				if part.Type != model.PartText {
					return nil, draftError("the input has a part of type %s; only text becomes a case", part.Type)
				}
				turn.prompt = strings.TrimSpace(turn.prompt + "\n" + part.Text)
			}
		}
		d.addVariables(&turn, n, t.Variables)
		var script draftScript
		if err := d.addEvents(t.Events, &turn, &script); err != nil {
			return nil, err
		}
		turn.script, _ = json.Marshal(&script) // texts and JSON
		if n < len(turns)-1 {
			turn.text, turn.calls = nil, nil
		}
		d.turns = append(d.turns, turn)
	}
	d.script, d.turns[0].script = d.turns[0].script, nil
	return d, nil
}

// unknownValue stands for the value of an unreadable variable.
const unknownValue = "unknown"

// addVariables adds placeholders for the values of a turn's variables.
func (d *Draft) addVariables(turn *caseTurn, n int, names []string) {
	if len(names) == 0 {
		return
	}
	values := make(map[string]string, len(names))
	for _, name := range names {
		values[name] = unknownValue
		d.Unknown = append(d.Unknown, diag.Key(diag.Index("turns", n)+".variables", name))
	}
	turn.variables, _ = json.Marshal(values) // texts
}

// draftScript is a script in the file's format.
type draftScript struct {
	Replies  []scriptReply  `json:"replies,omitempty"`
	Fallback *scriptFailure `json:"fallback,omitempty"`
}

// scriptFailure is a reply that fails as a provider did.
type scriptFailure struct {
	Error struct {
		Class model.ErrorClass `json:"class"`
	} `json:"error"`
}

// scriptReply is a reply of a script in the file's format.
type scriptReply struct {
	Text      string       `json:"text,omitempty"`
	ToolCalls []scriptCall `json:"tool_calls,omitempty"`
}

type scriptCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// addEvents derives tools, expectations and the model's replies from the turn's own events.
// Delegates are not rerun: their calls have recorded results.
func (d *Draft) addEvents(events []event.Event, turn *caseTurn, script *draftScript) error {
	var reply scriptReply
	complete := true
	calls := make(map[string]*ToolReply)
	asked := make(map[string]*interaction.Request)
	var order []*ToolReply
	end := func() {
		if reply.Text != "" || len(reply.ToolCalls) > 0 {
			script.Replies = append(script.Replies, reply)
		}
		reply = scriptReply{}
	}
	for i := range events {
		if len(events[i].Path) > 0 {
			continue
		}
		switch data := events[i].Data.(type) {
		case *event.StepStart:
			end()
			complete = false
		case *event.InferenceComplete:
			complete = true
		case *event.RunFinish:
			if data.Termination.Type == event.Failed && !complete {
				reply = scriptReply{}
				if script.Fallback = repeatFailure(data.Termination.Code); script.Fallback == nil {
					return draftError("the turn failed by %s, which a script cannot repeat", DescribeTermination(data.Termination))
				}
			}
		case *event.TextDelta:
			reply.Text += data.Delta
		case *event.StreamReset:
			reply = scriptReply{}
		case *event.ToolCallReady:
			reply.ToolCalls = append(reply.ToolCalls, scriptCall{data.Name, slices.Clone(data.Arguments)})
			c := &ToolReply{Tool: data.Name, Arguments: slices.Clone(data.Arguments)}
			calls[data.ID], order = c, append(order, c)
		case *event.InteractionRequest:
			asked[data.ID], asked[data.CallID] = &data.Request, &data.Request
		case *event.ToolCallResumed:
			if q := asked[data.TargetID]; q != nil {
				if err := d.addAnswer(answerTo(q, data)); err != nil {
					return err
				}
			}
		case *event.ToolCallDone:
			if c := calls[data.ID]; c != nil {
				c.Result, c.IsError = data.Result.Text(), data.Result.IsError
			}
		}
	}
	end()
	text := ""
	if len(script.Replies) > 0 && script.Fallback == nil {
		text = script.Replies[len(script.Replies)-1].Text
	}
	if text != "" {
		turn.text = &text
	}
	for _, c := range order {
		d.Replies = append(d.Replies, *c)
		if !strings.HasPrefix(c.Tool, "hand_off_to_") {
			d.tools[c.Tool] = true
		}
		turn.calls = append(turn.calls, c.Tool)
	}
	return nil
}

// DescribeTermination returns why a turn ended, as one text.
func DescribeTermination(t event.Termination) string {
	text := string(t.Type)
	if t.Code != "" {
		text += ":" + t.Code
	}
	if t.Detail != "" {
		text += " (" + t.Detail + ")"
	}
	return text
}

// repeatFailure returns a reply that fails with a class; nil if code is not a class.
func repeatFailure(code string) *scriptFailure {
	f := new(scriptFailure)
	f.Error.Class = model.ErrorClass(code)
	if !slices.Contains(model.RequestErrors(), f.Error.Class) {
		return nil
	}
	return f
}

// addAnswer adds an answer. A case gives the same answer to all requests of a tool.
func (d *Draft) addAnswer(a answer) error {
	for _, known := range d.answers {
		switch {
		case known.tool != a.tool:
		case reflect.DeepEqual(known, a):
			return nil
		default:
			return draftError("tool %s was answered in two ways, and a case has one answer for each tool", a.tool)
		}
	}
	d.answers = append(d.answers, a)
	return nil
}

// answerTo returns what reproduces the answer to a request.
func answerTo(q *interaction.Request, resumed *event.ToolCallResumed) answer {
	var consent struct {
		Approved *bool `json:"approved"`
	}
	switch {
	case resumed.Action == string(interaction.Cancel):
		return answer{tool: q.Tool, approve: new(false)}
	case json.Unmarshal(resumed.Result, &consent) == nil && consent.Approved != nil:
		return answer{tool: q.Tool, approve: consent.Approved}
	default:
		return answer{tool: q.Tool, value: slices.Clone(resumed.Result)}
	}
}

// Redact removes secrets from all texts of the case and the results.
func (d *Draft) Redact(f func(string) string) {
	d.script = redact.JSON(d.script, f)
	for i := range d.answers {
		d.answers[i].value = redact.JSON(d.answers[i].value, f)
	}
	for i := range d.turns {
		t := &d.turns[i]
		t.prompt, t.script = f(t.prompt), redact.JSON(t.script, f)
		if t.text != nil {
			clean := f(*t.text)
			t.text = &clean
		}
	}
	for i := range d.Replies {
		one := &d.Replies[i]
		one.Arguments, one.Result = redact.JSON(one.Arguments, f), f(one.Result)
	}
}

// Header begins a file of cases.
const Header = "version: 1\ncases:\n"

// YAML returns the case as an entry of a file. Values are written as JSON, which YAML contains.
func (d *Draft) YAML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s:\n    agent: %s\n    models: scripted\n    script: %s\n", d.ID, flow(d.agent), flow(d.script))
	if len(d.tools) > 0 {
		b.WriteString("    tools:\n")
		for _, name := range slices.Sorted(maps.Keys(d.tools)) {
			fmt.Fprintf(&b, "      %s: {replay: true}\n", flow(name))
		}
	}
	if len(d.answers) > 0 {
		b.WriteString("    answers:\n")
		for i := range d.answers {
			if a := &d.answers[i]; a.approve != nil {
				fmt.Fprintf(&b, "      - {tool: %s, approve: %t}\n", flow(a.tool), *a.approve)
			} else {
				fmt.Fprintf(&b, "      - {tool: %s, value: %s}\n", flow(a.tool), flow(a.value))
			}
		}
	}
	b.WriteString("    turns:\n")
	for i := range d.turns {
		t := &d.turns[i]
		fmt.Fprintf(&b, "      - prompt: %s\n", flow(t.prompt))
		if len(t.variables) > 0 {
			fmt.Fprintf(&b, "        variables: %s\n", flow(t.variables))
		}
		if len(t.script) > 0 {
			fmt.Fprintf(&b, "        script: %s\n", flow(t.script))
		}
		fmt.Fprintf(&b, "        expect:\n          status: %s\n", t.status)
		if t.text != nil {
			fmt.Fprintf(&b, "          text: {equals: %s}\n", flow(*t.text))
		}
		if len(t.calls) == 0 {
			continue
		}
		b.WriteString("          calls:\n            match: exact\n            calls:\n")
		for _, name := range t.calls {
			fmt.Fprintf(&b, "              - rule: %s\n", flow(name))
		}
	}
	return b.String()
}

// specialDollars matches dollar signs that case files do not read literally.
var specialDollars = regexp.MustCompile(`\$(\$+\{?|\{)`)

// flow formats a value in flow style. Dollar signs are escaped where needed.
func flow(v any) string {
	data, _ := json.Marshal(v) // texts and JSON
	return specialDollars.ReplaceAllStringFunc(string(data), func(found string) string { return strings.ReplaceAll(found, "$", "$$") })
}
