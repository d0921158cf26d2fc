package a2abackend

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/tools"
)

// The actions of tickets: what a peer waits for.
const (
	// ActionInput asks for a message to the peer's agent: a text, or an object
	// with text or data.
	ActionInput = "a2a:input_required"
	// ActionAuth asks somebody to authorise the peer's agent, in the way that the
	// peer says. The answer tells whether that was done; it may have a message to
	// the agent besides.
	ActionAuth = "a2a:auth_required"
)

// The forms of the answers to both, compact as they are stored.
var (
	inputSchema = json.RawMessage(`{"description":"The message to the agent: a text, or an object with text, data or both.",` +
		`"anyOf":[{"type":"string","minLength":1},` +
		`{"type":"object","properties":{"text":{"type":"string","minLength":1},"data":{"not":{"type":"null"}}},` +
		`"anyOf":[{"required":["text"]},{"required":["data"]}],"additionalProperties":false}]}`)
	authSchema = json.RawMessage(`{"type":"object","properties":{` +
		`"authenticated":{"type":"boolean","description":"Whether the agent was authorised."},` +
		`"text":{"type":"string","minLength":1,"description":"A message to the agent."},` +
		`"data":{"not":{"type":"null"},"description":"Structured data for the agent."}},` +
		`"required":["authenticated"],"additionalProperties":false}`)
)

// maxQuestion is how much a ticket repeats of a peer's question, in bytes.
const maxQuestion = 64 << 10

// ask makes the turn wait for what the peer asks.
func (d *delegation) ask() {
	c := &d.course
	c.Tickets++
	question, parameters := d.question()
	if len(question) > maxQuestion {
		question = strings.ToValidUTF8(question[:maxQuestion], "") + "…"
	}
	ticket := &plugins.Ticket{
		ID: string(c.TaskID) + "/" + strconv.Itoa(c.Tickets), CallID: string(c.TaskID),
		Action: ActionInput, Message: question, ResponseSchema: inputSchema, Mode: plugins.PassDecisionToTool,
		Parameters: parameters,
	}
	if c.State == a2a.TaskStateAuthRequired {
		ticket.Action, ticket.ResponseSchema = ActionAuth, authSchema
	} else if form := askedForm(parameters); form != nil {
		ticket.Action, ticket.ResponseSchema = tools.ActionAsk, form
	}
	c.Asked = fingerprint(&d.status)
	d.outcome, d.tickets, d.resolutions = event.CallSuspended, []*plugins.Ticket{ticket}, nil
	d.host.Emit(&event.InteractionRequest{
		ID: ticket.ID, CallID: ticket.CallID, Action: ticket.Action, Message: ticket.Message, Parameters: ticket.Parameters,
		ResponseSchema: ticket.ResponseSchema, Mode: string(ticket.Mode),
	})
}

// question returns what the peer asks, and what a program needs to know about
// it: which task asks, and the data that came with the question unless it is too
// large.
func (d *delegation) question() (text string, parameters json.RawMessage) {
	about := map[string]any{"task_id": string(d.course.TaskID), "context_id": d.course.ContextID}
	if m := d.status.Message; m != nil {
		var data any
		text, data = a2awire.Question(m.Parts)
		if shown := encode(data); data != nil && len(shown) <= maxQuestion {
			about["data"] = shown
		}
	}
	return text, encode(about)
}

// fingerprint tells one question of a task from another: "" where the peer gives
// nothing that does.
func fingerprint(s *a2a.TaskStatus) string {
	var id, at string
	if s.Message != nil {
		id = s.Message.ID
	}
	if s.Timestamp != nil {
		at = s.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	if id == "" && at == "" {
		return ""
	}
	return string(s.State) + "|" + id + "|" + at
}

// answered reports whether the peer still shows the question that was answered
// last.
func (d *delegation) answered(s *a2a.TaskStatus) bool {
	question := fingerprint(s)
	return question != "" && question == d.course.Asked
}

// given is what a person said to what a peer asks.
type given struct {
	// refused tells that it is not given.
	refused bool
	reason  string
	// parts are what the peer's agent is told; nil when it is told nothing.
	parts []*a2a.Part
}

// readAnswer reads the answer to a ticket.
func readAnswer(ticket *plugins.Ticket, r *plugins.Resolution) (*given, error) {
	if r.Action == plugins.ActionCancel {
		return &given{refused: true, reason: cmp.Or(r.Reason, "the question of the peer was not answered")}, nil
	}
	if q := questionOf(ticket.Parameters); ticket.Action == tools.ActionAsk && q != nil {
		var response any
		if err := json.Unmarshal(r.Result, &response); err != nil {
			return nil, fmt.Errorf("read the answer to interaction %q: %w", ticket.ID, err)
		}
		return &given{parts: []*a2a.Part{answerTo(q, response)}}, nil
	}
	var text string
	if json.Unmarshal(r.Result, &text) == nil && ticket.Action == ActionInput {
		return &given{parts: []*a2a.Part{a2a.NewTextPart(text)}}, nil
	}
	var fields struct {
		Authenticated bool            `json:"authenticated"`
		Text          string          `json:"text"`
		Data          json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(r.Result, &fields); err != nil {
		return nil, fmt.Errorf("read the answer to interaction %q: %w", ticket.ID, err)
	}
	if ticket.Action == ActionAuth && !fields.Authenticated {
		return &given{refused: true, reason: "the agent of the peer was not authorised"}, nil
	}
	a := new(given)
	if ticket.Action == ActionAuth && fields.Text == "" && len(fields.Data) == 0 {
		if part := authorized(ticket.Parameters); part != nil {
			a.parts = append(a.parts, part)
		}
		return a, nil
	}
	if fields.Text != "" {
		a.parts = append(a.parts, a2a.NewTextPart(fields.Text))
	}
	if len(fields.Data) > 0 {
		var value any
		if err := json.Unmarshal(fields.Data, &value); err != nil {
			return nil, fmt.Errorf("read the answer to interaction %q: %w", ticket.ID, err)
		}
		a.parts = append(a.parts, a2a.NewDataPart(value))
	}
	return a, nil
}

// peerQuestion is what a peer of this kind says of a question, as data.
type peerQuestion struct {
	Interaction string          `json:"interaction_id"`
	Action      string          `json:"action"`
	Schema      json.RawMessage `json:"response_schema"`
}

// questionOf reads the data of a question from the parameters of a ticket; nil
// when it does not name an interaction and the form of the answer.
func questionOf(parameters json.RawMessage) *peerQuestion {
	var asked struct {
		Data peerQuestion `json:"data"`
	}
	if json.Unmarshal(parameters, &asked) != nil || asked.Data.Interaction == "" || len(asked.Data.Schema) == 0 {
		return nil
	}
	return &asked.Data
}

// askedForm returns the form of the answer that a tool of the peer's asks a
// person for; nil for other questions. An answer is held against it here, where
// it can be asked for again: to the peer a wrong one is an error.
func askedForm(parameters json.RawMessage) json.RawMessage {
	q := questionOf(parameters)
	if q == nil || q.Action != tools.ActionAsk {
		return nil
	}
	if _, err := schema.Compile(q.Schema); err != nil {
		return nil
	}
	return q.Schema
}

// answerTo returns the part that answers a certain question of a peer.
func answerTo(q *peerQuestion, response any) *a2a.Part {
	return a2a.NewDataPart(map[string]any{"interaction_id": q.Interaction, "response": response})
}

// authorized returns the part that tells a peer that somebody has authorised its
// agent; nil for one that finds out by itself. A peer that waits for an answer
// names the interaction and the form of the answer with its question.
func authorized(parameters json.RawMessage) *a2a.Part {
	q := questionOf(parameters)
	if q == nil {
		return nil
	}
	form, err := schema.Compile(q.Schema)
	if err != nil {
		return nil
	}
	if wrong, err := form.ValidateJSON(json.RawMessage(`{"authenticated":true}`)); err != nil || len(wrong) > 0 {
		return nil
	}
	return answerTo(q, map[string]any{"authenticated": true})
}

// takeUp reads the answers that a turn goes on with, and shows that it does.
func (d *delegation) takeUp() (*given, error) {
	all := new(given)
	for i := range d.resolutions {
		r := &d.resolutions[i]
		at := slices.IndexFunc(d.tickets, func(t *plugins.Ticket) bool { return t.ID == r.Target })
		if at < 0 {
			return nil, fmt.Errorf("the answer %q belongs to nothing that the turn at the peer waits for", r.Target)
		}
		a, err := readAnswer(d.tickets[at], r)
		if err != nil {
			return nil, err
		}
		if d.outcome == event.CallSuspended {
			d.host.Emit(&event.ToolCallResumed{TargetID: r.Target, Action: string(r.Action), Result: r.Result})
		}
		all.parts = append(all.parts, a.parts...)
		if a.refused {
			all.refused, all.reason = true, a.reason
		}
	}
	return all, nil
}

// messageText returns the text of a message of the peer's; "" for none.
func messageText(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	return a2awire.Text(m.Parts)
}
