package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/tools"
)

// Actions of interactions from a peer.
const (
	// ActionInput asks for a message to the peer's agent: a text, or an object
	// with text or data.
	ActionInput = "a2a:input_required"
	// ActionAuth asks a person to authorize the peer's agent as the peer describes. The answer
	// reports whether that was done, and may add a message to the agent.
	ActionAuth = "a2a:auth_required"
)

// The schemas of both answers, compact as they are stored.
var (
	inputSchema = json.RawMessage(`{"description":"The message to the agent: a text, or an object with text, data or both.",` +
		`"anyOf":[{"type":"string","minLength":1},` +
		`{"type":"object","properties":{"text":{"type":"string","minLength":1},"data":{"not":{"type":"null"}}},` +
		`"anyOf":[{"required":["text"]},{"required":["data"]}],"additionalProperties":false}]}`)
	authSchema = json.RawMessage(`{"type":"object","properties":{` +
		`"authenticated":{"type":"boolean","description":"Whether the agent was authorized."},` +
		`"text":{"type":"string","minLength":1,"description":"A message to the agent."},` +
		`"data":{"not":{"type":"null"},"description":"Structured data for the agent."}},` +
		`"required":["authenticated"],"additionalProperties":false}`)
)

// maxQuestion is the maximum size, in bytes, of a peer's question in an interaction.
const maxQuestion = 64 << 10

// askQuestion makes the turn wait for the answer to the peer's question.
func (t *turn) askQuestion() {
	x := t.exchange
	t.course.Questions++
	question, parameters := t.peerQuestion()
	question = clip.At(maxQuestion, question)
	task := string(x.Position().TaskID)
	request := &backend.Interaction{Request: interaction.Request{
		ID: task + "/" + strconv.Itoa(t.course.Questions), CallID: task,
		Action: ActionInput, Message: question, ResponseSchema: inputSchema, Mode: interaction.PassDecisionToTool,
		Parameters: parameters,
	}}
	if x.Position().State == a2a.TaskStateAuthRequired {
		request.Action, request.ResponseSchema = ActionAuth, authSchema
	} else if form := askedForm(parameters); form != nil {
		request.Action, request.ResponseSchema = tools.ActionAsk, form
	}
	x.NoteQuestion()
	t.waits = wait{outcome: event.CallSuspended, interactions: []*backend.Interaction{request}}
	t.response = request.Message
	t.host.Emit(&event.InteractionRequest{Request: request.Request})
}

// peerQuestion returns the peer's question and its parameters for programs: the task, and the
// data sent with the question unless it is too large.
func (t *turn) peerQuestion() (text string, parameters json.RawMessage) {
	at := t.exchange.Position()
	about := map[string]any{"task_id": string(at.TaskID), "context_id": at.ContextID}
	text, data := t.exchange.Question()
	if shown := encodeRecord(data); data != nil && len(shown) <= maxQuestion {
		about["data"] = shown
	}
	return text, encodeRecord(about)
}

// given is a person's answer to a peer's question.
type given struct {
	// refused is set if the answer was refused.
	refused bool
	reason  string
	// parts are sent to the peer's agent; nil if nothing is sent.
	parts []*a2a.Part
}

// readAnswer reads the answer to an interaction.
func readAnswer(request *interaction.Request, r *interaction.Answer) (*given, error) {
	if r.Action == interaction.Cancel {
		return &given{refused: true, reason: cmp.Or(r.Reason, "the question of the peer was not answered")}, nil
	}
	if q := questionOf(request.Parameters); request.Action == tools.ActionAsk && q != nil {
		var response any
		if err := json.Unmarshal(r.Result, &response); err != nil {
			return nil, fmt.Errorf("read the answer to interaction %q: %w", request.ID, err)
		}
		return &given{parts: []*a2a.Part{answerTo(q, response)}}, nil
	}
	var text string
	if json.Unmarshal(r.Result, &text) == nil && request.Action == ActionInput {
		return &given{parts: []*a2a.Part{a2a.NewTextPart(text)}}, nil
	}
	var fields struct {
		Authenticated bool            `json:"authenticated"`
		Text          string          `json:"text"`
		Data          json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(r.Result, &fields); err != nil {
		return nil, fmt.Errorf("read the answer to interaction %q: %w", request.ID, err)
	}
	if request.Action == ActionAuth && !fields.Authenticated {
		return &given{refused: true, reason: "the agent of the peer was not authorized"}, nil
	}
	a := new(given)
	if request.Action == ActionAuth && fields.Text == "" && len(fields.Data) == 0 {
		if part := authorizedPart(request.Parameters); part != nil {
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
			return nil, fmt.Errorf("read the answer to interaction %q: %w", request.ID, err)
		}
		a.parts = append(a.parts, a2a.NewDataPart(value))
	}
	return a, nil
}

// peerQuestion is the data that peers of this kind send with a question.
type peerQuestion struct {
	Interaction string          `json:"interaction_id"`
	Action      string          `json:"action"`
	Schema      json.RawMessage `json:"response_schema"`
}

// questionOf reads a question's data from the parameters of an interaction; nil if it lacks the
// interaction or the answer's schema.
func questionOf(parameters json.RawMessage) *peerQuestion {
	var asked struct {
		Data peerQuestion `json:"data"`
	}
	if json.Unmarshal(parameters, &asked) != nil || asked.Data.Interaction == "" || len(asked.Data.Schema) == 0 {
		return nil
	}
	return &asked.Data
}

// askedForm returns the schema of the answer to a question from a peer's tool; nil for other
// questions. Answers are checked here, where a person can correct them; the peer would report an
// error.
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

// answerTo returns the part that answers a peer's question.
func answerTo(q *peerQuestion, response any) *a2a.Part {
	return a2a.NewDataPart(map[string]any{"interaction_id": q.Interaction, "response": response})
}

// authorizedPart returns the part that tells a peer that its agent was authorized; nil for a peer
// that detects it itself. A peer that waits for an answer sends the interaction and the answer's
// schema with its question.
func authorizedPart(parameters json.RawMessage) *a2a.Part {
	q := questionOf(parameters)
	if q == nil {
		return nil
	}
	form, err := schema.Compile(q.Schema)
	if err != nil {
		return nil
	}
	if wrong, err := form.ValidateJSON(context.Background(), json.RawMessage(`{"authenticated":true}`)); err != nil || len(wrong) > 0 {
		return nil
	}
	return answerTo(q, map[string]any{"authenticated": true})
}

// takeAnswers reads the answers that a turn resumes with, and emits their events.
func (t *turn) takeAnswers() (*given, error) {
	all := new(given)
	for i := range t.waits.answers {
		r := &t.waits.answers[i]
		at := slices.IndexFunc(t.waits.interactions, func(request *backend.Interaction) bool { return request.ID == r.Target })
		if at < 0 {
			return nil, fmt.Errorf("the answer %q matches no open interaction of the turn at the peer", r.Target)
		}
		a, err := readAnswer(&t.waits.interactions[at].Request, r)
		if err != nil {
			return nil, err
		}
		if t.waits.isSuspended() {
			t.host.Emit(event.Resumed(r))
		}
		all.parts = append(all.parts, a.parts...)
		if a.refused {
			all.refused, all.reason = true, a.reason
		}
	}
	return all, nil
}
