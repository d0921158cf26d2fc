package evals

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
)

// StoredTurn is the source for a case.
type StoredTurn struct {
	// AgentID is the agent that began the turn. FinalAgent held the conversation at the end; empty
	// means AgentID.
	AgentID, FinalAgent string
	Status              event.Status
	Input               []model.Message
	// Variables are the names of the turn's variables, whose values are not readable.
	Variables []string
	Events    []event.Event
}

// Draft is a case made from a stored turn, with the results of its tools.
type Draft struct {
	Case    *Case
	Replies []ToolReply
	// Unknown describes the variables of the turns whose values must be added to the case.
	Unknown []string
}

// DraftError reports a turn that cannot become a case.
type DraftError struct{ Reason string }

// Error returns the reason.
func (e *DraftError) Error() string { return e.Reason }

func draftError(format string, args ...any) error {
	return &DraftError{fmt.Sprintf(format, args...)}
}

// NewDraft returns a case that replays a conversation with scripted model answers and recorded tool
// results. It expects the status, calls and text of the last turn. The error is a *DraftError.
func NewDraft(id string, turns ...*StoredTurn) (*Draft, error) {
	if len(turns) == 0 {
		return nil, draftError("there is no turn")
	}
	if !caseIDs.MatchString(id) {
		return nil, draftError("%q cannot be the ID of a case", id)
	}
	d := &Draft{Case: &Case{ID: id, Agent: turns[0].AgentID, Models: Scripted, Tools: make(map[string]*ToolUse)}}
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
		turn := Turn{Expect: Expectations{Status: string(t.Status)}}
		for i := range t.Input {
			if t.Input[i].Role != model.RoleUser {
				return nil, draftError("the input has a message of role %s; only messages of the user become a case", t.Input[i].Role)
			}
			for _, part := range t.Input[i].Parts {
				if part.Type != model.PartText {
					return nil, draftError("the input has a part of type %s; only text becomes a case", part.Type)
				}
				turn.Prompt = strings.TrimSpace(turn.Prompt + "\n" + part.Text)
			}
		}
		d.addVariables(&turn, n, t.Variables)
		var script draftScript
		if err := d.addEvents(t.Events, &turn, &script); err != nil {
			return nil, err
		}
		turn.Script, _ = json.Marshal(&script) // texts and JSON
		if n < len(turns)-1 {
			turn.Expect = Expectations{Status: turn.Expect.Status}
		}
		d.Case.Turns = append(d.Case.Turns, turn)
	}
	d.Case.Script, d.Case.Turns[0].Script = d.Case.Turns[0].Script, nil
	return d, nil
}

// unknownValue stands for the value of an unreadable variable.
const unknownValue = "unknown"

// addVariables adds placeholders for the values of a turn's variables.
func (d *Draft) addVariables(turn *Turn, n int, names []string) {
	if len(names) == 0 {
		return
	}
	values := make(map[string]string, len(names))
	for _, name := range names {
		values[name] = unknownValue
		d.Unknown = append(d.Unknown, diag.Key(diag.Index("turns", n)+".variables", name))
	}
	turn.Variables, _ = json.Marshal(values) // texts
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
func (d *Draft) addEvents(events []event.Event, turn *Turn, script *draftScript) error {
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
					return draftError("the turn failed by %s, which a script cannot repeat", describeTermination(data.Termination))
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
		turn.Expect.Text = &TextExpected{Equals: &text}
	}
	for _, c := range order {
		d.Replies = append(d.Replies, *c)
		if !strings.HasPrefix(c.Tool, "hand_off_to_") {
			d.Case.Tools[c.Tool] = &ToolUse{Replay: true}
		}
		if turn.Expect.Calls == nil {
			turn.Expect.Calls = &ExpectedCalls{Match: MatchExact}
		}
		turn.Expect.Calls.Calls = append(turn.Expect.Calls.Calls, ExpectedCall{Rule: c.Tool})
	}
	return nil
}

// repeatFailure returns a reply that fails with a class; nil if code is not a class.
func repeatFailure(code string) *scriptFailure {
	f := new(scriptFailure)
	f.Error.Class = model.ErrorClass(code)
	data, _ := json.Marshal(&draftScript{Fallback: f}) // texts
	if _, err := scripted.Parse("turn", data); err != nil {
		return nil
	}
	return f
}

// addAnswer adds an answer. A case gives the same answer to all requests of a tool.
func (d *Draft) addAnswer(a AnswerRule) error {
	for _, known := range d.Case.Answers {
		switch {
		case known.Tool != a.Tool:
		case reflect.DeepEqual(known, a):
			return nil
		default:
			return draftError("tool %s was answered in two ways, and a case has one answer for each tool", a.Tool)
		}
	}
	d.Case.Answers = append(d.Case.Answers, a)
	return nil
}

// answerTo returns the rule that reproduces the answer to a request.
func answerTo(q *interaction.Request, resumed *event.ToolCallResumed) AnswerRule {
	var consent struct {
		Approved *bool `json:"approved"`
	}
	switch {
	case resumed.Action == string(interaction.Cancel):
		return AnswerRule{Tool: q.Tool, Approve: new(false)}
	case json.Unmarshal(resumed.Result, &consent) == nil && consent.Approved != nil:
		return AnswerRule{Tool: q.Tool, Approve: consent.Approved}
	default:
		return AnswerRule{Tool: q.Tool, Value: slices.Clone(resumed.Result)}
	}
}

// Write adds the case to a file, creating it if necessary, and writes the tool results to a file
// beside it, with secrets removed by hide. It returns a *DraftError for an invalid case, and
// ErrCaseExists if a file of the suite already has the ID; in both cases it writes nothing.
func (d *Draft) Write(file string, suite []string, hide func(string) string) error {
	d.redact(hide)
	data, err := readFile(file, maxFileSize)
	if os.IsNotExist(err) {
		data, err = []byte("version: 1\ncases:\n"), nil
	}
	if err != nil {
		return err
	}
	for _, other := range suite {
		if err := d.checkID(other); err != nil {
			return err
		}
	}
	whole := strings.TrimRight(string(data), "\n") + "\n" + d.yaml()
	all, list := Parse(file, []byte(whole))
	if list.HasErrors() {
		return draftError("%s would be invalid: %v", file, list.Err())
	}
	if _, added := all.findID(d.Case.ID); !added {
		return draftError("cases must be the last field of %s", file)
	}
	if len(d.Replies) > 0 {
		var lines bytes.Buffer
		for i := range d.Replies {
			line, err := json.Marshal(&d.Replies[i])
			if err != nil {
				return err
			}
			lines.Write(append(line, '\n'))
		}
		if err := writeFile(ToolRepliesPath(filepath.Dir(file), d.Case.ID), lines.Bytes()); err != nil {
			return err
		}
	}
	return writeFile(file, []byte(whole))
}

// ErrCaseExists is the cause of an error of Write for a case whose ID is taken.
var ErrCaseExists = errors.New("there is already a case with this ID")

// checkID returns an error if a file has a case with the ID.
func (d *Draft) checkID(file string) error {
	data, err := readFile(file, maxFileSize)
	if err != nil {
		return nil //nolint:nilerr // no run can read it either
	}
	known, _ := Parse(file, data)
	if id, taken := known.findID(d.Case.ID); taken {
		return fmt.Errorf("%w: %s in %s", ErrCaseExists, id, file)
	}
	return nil
}

// redact removes secrets from all texts of the case and the results.
func (d *Draft) redact(f func(string) string) {
	c := d.Case
	c.Script = redact.JSON(c.Script, f)
	for i := range c.Answers {
		c.Answers[i].Value = redact.JSON(c.Answers[i].Value, f)
	}
	for i := range c.Turns {
		t := &c.Turns[i]
		t.Prompt, t.Script = f(t.Prompt), redact.JSON(t.Script, f)
		if t.Expect.Text != nil {
			clean := f(*t.Expect.Text.Equals)
			t.Expect.Text.Equals = &clean
		}
	}
	for i := range d.Replies {
		one := &d.Replies[i]
		one.Arguments, one.Result = redact.JSON(one.Arguments, f), f(one.Result)
	}
}

// yaml returns the case as an entry of a file. Values are written as JSON, which YAML
// contains.
func (d *Draft) yaml() string {
	var b strings.Builder
	c := d.Case
	fmt.Fprintf(&b, "  %s:\n    agent: %s\n    models: %s\n    script: %s\n", c.ID, flow(c.Agent), c.Models, flow(c.Script))
	if len(c.Tools) > 0 {
		b.WriteString("    tools:\n")
		for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
			fmt.Fprintf(&b, "      %s: {replay: true}\n", flow(name))
		}
	}
	if len(c.Answers) > 0 {
		b.WriteString("    answers:\n")
		for i := range c.Answers {
			if a := &c.Answers[i]; a.Approve != nil {
				fmt.Fprintf(&b, "      - {tool: %s, approve: %t}\n", flow(a.Tool), *a.Approve)
			} else {
				fmt.Fprintf(&b, "      - {tool: %s, value: %s}\n", flow(a.Tool), flow(a.Value))
			}
		}
	}
	b.WriteString("    turns:\n")
	for i := range c.Turns {
		t := &c.Turns[i]
		fmt.Fprintf(&b, "      - prompt: %s\n", flow(t.Prompt))
		if len(t.Variables) > 0 {
			fmt.Fprintf(&b, "        variables: %s\n", flow(t.Variables))
		}
		if len(t.Script) > 0 {
			fmt.Fprintf(&b, "        script: %s\n", flow(t.Script))
		}
		fmt.Fprintf(&b, "        expect:\n          status: %s\n", t.Expect.Status)
		if t.Expect.Text != nil {
			fmt.Fprintf(&b, "          text: {equals: %s}\n", flow(*t.Expect.Text.Equals))
		}
		if t.Expect.Calls == nil {
			continue
		}
		fmt.Fprintf(&b, "          calls:\n            match: %s\n            calls:\n", t.Expect.Calls.Match)
		for _, one := range t.Expect.Calls.Calls {
			fmt.Fprintf(&b, "              - rule: %s\n", flow(one.Rule))
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
