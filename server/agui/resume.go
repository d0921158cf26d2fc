package agui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// runError is the reason a run cannot begin. It is sent in the stream, and clients then keep their
// interrupts.
type runError struct{ code, message string }

// Error returns the message.
func (e *runError) Error() string { return e.message }

// The error codes of resumptions.
const (
	codeUnknownInterrupt = "unknown_interrupt"
	codeUnanswered       = "interrupts_unanswered"
	codeInvalidPayload   = "invalid_resume_payload"
	codeAnswered         = "interrupt_answered"
)

func unknownInterrupt(id string) *runError {
	return &runError{codeUnknownInterrupt, fmt.Sprintf("the thread has no open interrupt %q", clip.Text(id))}
}

// answeredSegment returns the answer whose questions the request answers.
func (x *exchange) answeredSegment(n *surfacekit.Narrator) (int, error) {
	segment := n.Segment - 1
	if last := len(x.in.Messages) - 1; last >= 0 && x.in.Messages[last].Role == surfacekit.RoleTool {
		if q := n.AsksClient(x.in.Messages[last].ToolCallID); q != nil {
			segment = q.Segment
		}
	}
	for i := range x.in.Resume {
		id := x.in.Resume[i].InterruptID
		q := n.Question(id)
		if q == nil || q.RunsAtClient() || i > 0 && q.Segment != segment {
			return 0, unknownInterrupt(id)
		}
		segment = q.Segment
	}
	if segment < 0 {
		return 0, unknownInterrupt("")
	}
	return segment, nil
}

// answers returns the answers to all questions that an answer ended with; nil if the
// client does not answer an interrupt at all.
func (x *exchange) answers(ctx context.Context, n *surfacekit.Narrator, segment int) ([]interaction.Answer, error) {
	resumed := map[string]*resumption{}
	for i := range x.in.Resume {
		resumed[x.in.Resume[i].InterruptID] = &x.in.Resume[i]
	}
	var answers []interaction.Answer
	for _, q := range n.Questions {
		r := resumed[q.ID]
		var a interaction.Answer
		var err error
		switch {
		case q.Segment != segment:
			continue
		case q.RunsAtClient():
			if a, err = x.callAnswer(q); a.Target == "" && err == nil {
				continue
			}
		case r != nil:
			a, err = r.toAnswer(ctx, q)
		case q.Answered:
			continue
		case len(resumed) == 0:
			return nil, nil
		default:
			err = &runError{codeUnanswered, fmt.Sprintf("interrupt %q has no answer", q.ID)}
		}
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// callAnswer returns the answer to a client call: the result in the messages, or a refusal. It is
// empty if the call was answered before and the messages lack the result.
func (x *exchange) callAnswer(q *surfacekit.Question) (interaction.Answer, error) {
	for i := range x.in.Messages {
		m := &x.in.Messages[i]
		if m.Role != surfacekit.RoleTool || m.ToolCallID != q.Call.ID {
			continue
		}
		parts, err := readContent(m.Content, fmt.Sprintf("messages[%d].content", i))
		if err != nil {
			return interaction.Answer{}, err
		}
		text := m.result(parts)
		if m.Error != nil && *m.Error != "" {
			return surfacekit.AnswerCall(q.InteractionRequest, clienttool.Answer{Error: &text})
		}
		return surfacekit.AnswerCall(q.InteractionRequest, clienttool.Answer{Result: &text})
	}
	if q.Answered {
		return interaction.Answer{}, nil
	}
	return surfacekit.AnswerApproval(x.Context(), q.InteractionRequest, false, "the client did not answer the call")
}

// readMessage returns the user's message that accompanies the answers, without the messages that
// began the turn.
func (x *exchange) readMessage(turnID string) (model.Message, error) {
	said := model.Message{Role: model.RoleUser}
	input, _ := x.newInput()
	if len(input) == 0 {
		return said, nil
	}
	began, err := x.Service.TurnInput(x.Context(), x.Caller, turnID)
	if err != nil {
		return said, err
	}
	for i := range input {
		known := slices.ContainsFunc(began, func(m model.Message) bool { return m.ID != "" && m.ID == input[i].ID })
		if input[i].Role == model.RoleUser && !known {
			said.ID = input[i].ID
			said.Parts = append(said.Parts, input[i].Parts...)
		}
	}
	return said, nil
}

// decision is the payload of an approval.
type decision struct {
	Approved *bool           `json:"approved"`
	Edited   json.RawMessage `json:"editedArgs"`
	Message  string          `json:"message"`
	Reason   string          `json:"reason"`
}

// toAnswer returns the answer to a question: a payload of the announced form, or the decision about
// a call, possibly with other arguments.
func (r *resumption) toAnswer(ctx context.Context, q *surfacekit.Question) (interaction.Answer, error) {
	var given decision
	if json.Unmarshal(r.Payload, &given) != nil {
		given = decision{} // a pointer is set even if its value is invalid
	}
	reason := cmp.Or(given.Reason, given.Message)
	if r.Status == statusCanceled {
		return surfacekit.AnswerApproval(ctx, q.InteractionRequest, false, reason)
	}
	direct := interaction.Answer{Target: q.InteractionRequest.ID, Action: interaction.Resume, Result: r.Payload}
	unfit := interaction.Check(ctx, &q.Request, &direct)
	var text string
	switch {
	case unfit == nil:
		return direct, nil
	case given.Approved != nil && !*given.Approved && !q.IsWords():
		return surfacekit.AnswerApproval(ctx, q.InteractionRequest, false, reason)
	case given.Approved != nil && !q.IsWords():
		return r.toApproval(ctx, q, given.Edited)
	case json.Unmarshal(r.Payload, &text) == nil:
		return surfacekit.AnswerText(ctx, q.InteractionRequest, text)
	default:
		return direct, unfit
	}
}

// toApproval returns the answer that approves a call, possibly with other arguments. Other members
// of the payload belong to the announced form.
func (r *resumption) toApproval(ctx context.Context, q *surfacekit.Question, edited json.RawMessage) (interaction.Answer, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Payload, &members); err != nil {
		return interaction.Answer{}, err // not reached: it has a member
	}
	delete(members, "editedArgs")
	delete(members, "message")
	form, err := json.Marshal(members)
	if err != nil {
		return interaction.Answer{}, err // not reached: it was JSON
	}
	a := interaction.Answer{Target: q.InteractionRequest.ID, Action: interaction.Resume, Result: form}
	if len(members) == 1 {
		a, err = surfacekit.AnswerApproval(ctx, q.InteractionRequest, true, "")
	} else {
		err = interaction.Check(ctx, &q.Request, &a)
	}
	if len(edited) > 0 {
		a.Arguments = edited
	}
	return a, err
}

// asRunError converts an error of an answer to a run error; nil for other errors.
func asRunError(err error) *runError {
	if known, ok := errors.AsType[*runError](err); ok {
		return known
	}
	switch {
	case errors.As(err, new(*interaction.AnswerError)):
		return &runError{codeInvalidPayload, err.Error()}
	case errors.As(err, new(*service.ConflictError)):
		return &runError{codeAnswered, "the interrupt has another answer"}
	case errors.As(err, new(*service.StateError)):
		return &runError{codeUnknownInterrupt, "the run does not wait any more"}
	default:
		return nil
	}
}

// interrupt is a question in the client's form.
type interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	Metadata       asked           `json:"metadata"`
}

// asked is the subject of a question.
type asked struct {
	Tool       string          `json:"tool,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

func newInterrupt(q *surfacekit.Question) interrupt {
	i := interrupt{ID: q.ID, Reason: cmp.Or(q.Action, "approval"), Message: q.Message, Metadata: asked{q.Tool, q.Arguments, q.Parameters}}
	if q.Call != nil {
		i.ToolCallID = q.Call.ID
	}
	var form map[string]json.RawMessage
	if json.Unmarshal(q.ResponseSchema, &form) == nil && form != nil {
		i.ResponseSchema = q.ResponseSchema
	}
	return i
}

// outcome is how a run ended.
type outcome struct {
	Type       string      `json:"type"`
	Interrupts []interrupt `json:"interrupts,omitempty"`
	Pending    []string    `json:"pendingToolCallIds,omitempty"`
}

// waitOutcome returns the outcome of a run that asks its client; nil for a client before
// 1.0 that runs functions.
func (in *runInput) waitOutcome(open []*surfacekit.Question) *outcome {
	var interrupts []interrupt
	var pending []string
	for _, q := range open {
		if q.RunsAtClient() {
			pending = append(pending, q.Call.ID)
		} else {
			interrupts = append(interrupts, newInterrupt(q))
		}
	}
	switch {
	case len(interrupts) > 0:
		return &outcome{Type: "interrupt", Interrupts: interrupts}
	case in.ProtocolVersion != nil:
		return &outcome{Type: "success", Pending: pending}
	default:
		return nil
	}
}

// resultText returns the result of a tool as text.
func resultText(r *event.ToolResult) string {
	text := r.Text()
	for i := range r.Content {
		if c := &r.Content[i]; c.Type != "text" && c.Text == "" {
			text += fmt.Sprintf("[%s %s]", c.Type, c.MediaType)
		}
	}
	return text
}
