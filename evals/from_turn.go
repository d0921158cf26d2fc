package evals

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/model"
)

// StoredTurn is a turn that was kept, of which a case is made.
type StoredTurn struct {
	AgentID string
	Status  event.Status
	Input   []model.Message
	Events  []event.Event
}

// Draft is a case made of a stored turn, and the results of its tools.
type Draft struct {
	Case    *Case
	Replies []ToolReply
}

// NewDraft returns a case that repeats a turn: a script gives the model's answers, and
// tools answer with the results that they had then. It expects the status, the calls and
// the text of the turn. Turns with content other than text are an error.
func NewDraft(id string, t *StoredTurn) (*Draft, error) {
	d := &Draft{Case: &Case{ID: id, Agent: t.AgentID, Models: Scripted, Tools: make(map[string]*ToolUse)}}
	turn := Turn{Expect: Expectations{Status: string(t.Status)}}
	for i := range t.Input {
		for _, part := range t.Input[i].Parts {
			if part.Type != model.PartText {
				return nil, fmt.Errorf("the turn's input has a part of type %s; only text becomes a case", part.Type)
			}
			turn.Prompt = strings.TrimSpace(turn.Prompt + "\n" + part.Text)
		}
	}
	d.addEvents(t.Events, &turn)
	d.Case.Turns = []Turn{turn}
	return d, nil
}

// scriptReply is a reply of a script, in the form of the file.
type scriptReply struct {
	Text      string       `json:"text,omitempty"`
	ToolCalls []scriptCall `json:"tool_calls,omitempty"`
}

type scriptCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// addEvents makes the script, the tools and the expectations of the turn's own events.
// Delegates are not run again: their calls have results, like those of other tools.
func (d *Draft) addEvents(events []event.Event, turn *Turn) {
	var replies []scriptReply
	var reply scriptReply
	calls := make(map[string]*ToolReply)
	asked := make(map[string]*interaction.Request)
	var order []*ToolReply
	end := func() {
		if reply.Text != "" || len(reply.ToolCalls) > 0 {
			replies = append(replies, reply)
		}
		reply = scriptReply{}
	}
	for i := range events {
		if len(events[i].Path) > 0 {
			continue
		}
		switch data := events[i].Data.(type) {
		case *event.StepStart, *event.InferenceComplete:
			if _, starts := data.(*event.StepStart); starts {
				end()
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
				d.Case.Answers = append(d.Case.Answers, answerTo(q, data))
			}
		case *event.ToolCallDone:
			if c := calls[data.ID]; c != nil {
				c.Result, c.IsError = data.Result.Text(), data.Result.IsError
			}
		}
	}
	end()
	text := ""
	if len(replies) > 0 {
		text = replies[len(replies)-1].Text
	}
	script, _ := json.Marshal(map[string]any{"replies": replies}) // texts and JSON
	d.Case.Script = script
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
}

// answerTo returns the rule that answers a request as it was answered.
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

// Write adds the case to a file, which it creates if necessary, and writes the results of
// the tools to a file beside it. Secrets are taken out by redact. An existing case with the ID is
// an error, and changes nothing.
func (d *Draft) Write(file, dir string, redact func(string) string) error {
	text := d.yaml()
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		data, err = []byte("version: 1\ncases:\n"), nil
	}
	if err != nil {
		return err
	}
	whole := strings.TrimRight(string(data), "\n") + "\n" + redact(text)
	suite := &Suite{files: make(map[string]*config.File)}
	if list := suite.addFile(file, []byte(whole)); list.HasErrors() {
		return fmt.Errorf("add case %s to %s: %w", d.Case.ID, file, list.Err())
	}
	if !slices.ContainsFunc(suite.Cases, func(c *Case) bool { return c.ID == d.Case.ID }) {
		return fmt.Errorf("add case %s: cases must be the last field of %s", d.Case.ID, file)
	}
	if len(d.Replies) > 0 {
		var lines strings.Builder
		for i := range d.Replies {
			line, err := json.Marshal(&d.Replies[i])
			if err != nil {
				return err
			}
			lines.WriteString(redact(string(line)) + "\n")
		}
		if err := writeFile(ToolRepliesPath(dir, d.Case.ID), []byte(lines.String())); err != nil {
			return err
		}
	}
	return writeFile(file, []byte(whole))
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
		fmt.Fprintf(&b, "      - prompt: %s\n        expect:\n          status: %s\n", flow(t.Prompt), t.Expect.Status)
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

// flow returns a value in flow style. References to variables are escaped.
func flow(v any) string {
	data, _ := json.Marshal(v) // texts and JSON
	return strings.ReplaceAll(string(data), "${", "$${")
}
