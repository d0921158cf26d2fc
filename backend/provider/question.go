package provider

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"google.golang.org/protobuf/types/known/structpb"
)

// ActionApproval is the action of a provider's approval request.
const ActionApproval = "provider:approval"

const (
	// questionTool is the tool whose calls represent the provider's waiting questions.
	questionTool = "provider_question"
	// maxAsked is how often to repeat a question whose answers the provider rejects.
	maxAsked = 3
	// maxQuestion bounds the text shown to a person, and maxTitle its title, in bytes.
	maxQuestion = 64 << 10
	maxTitle    = 1 << 10
	// questionTimeout limits asking and answering a question.
	questionTimeout = tools.DefaultTimeout
)

// The forms of the answers, compact as they are stored.
var (
	approvalSchema = json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`)
	textSchema     = json.RawMessage(`{"type":"string"}`)
	inputSchema    = json.RawMessage(`{"type":["string","object"]}`)
)

// addQuestions adds the tool that represents waiting questions to the turn. It is never offered
// to a model.
func (d *drive) addQuestions() {
	if e := d.env.Tools.Get(questionTool); e != nil {
		return // a configured tool has this name, so questions fail
	}
	entry, list := toolset.Compile(questionTool, question{d}, toolset.Source{Kind: toolset.SourceBackend, Name: d.at.Provider})
	if list.HasErrors() {
		return
	}
	d.env.Tools = toolset.NewSet(append(d.env.Tools.Entries()[:d.env.Tools.Len():d.env.Tools.Len()], entry))
}

// askQuestions adds the provider's questions to the answer as waiting calls.
func (d *drive) askQuestions(ctx context.Context) (done bool, err error) {
	list, err := ask(ctx, d, "ListInteractions", d.process.current().ListInteractions, &providerproto.ListAgentProviderInteractionsRequest{TurnId: d.at.TurnID, Subject: d.subject()})
	if err != nil {
		return false, err
	}
	d.addQuestions()
	n := 0
	for _, i := range list.GetInteractions() {
		if i.GetState() != providerproto.AgentInteractionState_AGENT_INTERACTION_STATE_PENDING || i.GetTurnId() != "" && i.GetTurnId() != d.at.TurnID {
			continue
		}
		if answered, err := d.awaitResolution(ctx, i.GetId()); err != nil {
			return false, err
		} else if answered {
			continue
		}
		if d.asked[i.GetId()]++; d.asked[i.GetId()] > maxAsked {
			return true, &TurnError{Code: CodeRefused, Detail: fmt.Sprintf("the provider does not accept an answer to its question %q", i.GetId())}
		}
		arguments := encodeRecord(map[string]string{"interaction_id": i.GetId()})
		if err := d.said.pass(
			model.Event{Type: model.EventToolCallStart, Index: n, ID: fmt.Sprintf("question_%d_%d", d.at.Seq, n), Name: questionTool},
			model.Event{Type: model.EventToolCallEnd, Index: n, Delta: string(arguments)},
		); err != nil {
			return true, err
		}
		n++
	}
	if n == 0 {
		return false, nil // it was answered meanwhile
	}
	return true, d.said.pass(model.Event{Type: model.EventFinish, Reason: model.FinishToolCalls})
}

// awaitResolution reports whether the provider accepted an answer that it already had, once it has
// handled it.
func (d *drive) awaitResolution(ctx context.Context, id string) (answered bool, err error) {
	open := &d.hosted.provider.host.requests
	e := open.find(d.at.TurnID, resolveKey+id)
	if e == nil {
		return false, nil
	}
	if err := d.awaitAnswer(ctx, e); err != nil {
		return false, err
	}
	open.drop(d.at.TurnID, resolveKey+id)
	return e.err == nil, nil
}

// question is the tool that represents waiting questions. It belongs to one turn.
type question struct{ drive *drive }

// Descriptor describes the tool to the loop only.
func (question) Descriptor() tools.Descriptor {
	return tools.Descriptor{
		Description: "A question of the agent provider.", Effect: tools.Idempotent, Timeout: questionTimeout,
		Parameters: json.RawMessage(`{"type":"object","properties":{"interaction_id":{"type":"string"}},"required":["interaction_id"]}`),
	}
}

// Call asks the question, or hands the answer to the provider.
func (q question) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	var asked struct {
		ID string `json:"interaction_id"`
	}
	if err := json.Unmarshal(call.Arguments, &asked); err != nil {
		return tools.Result{}, fmt.Errorf("read the question: %w", err)
	}
	if err := q.drive.attach(ctx); err != nil {
		return tools.Result{}, err
	}
	if err := q.drive.openCalls(); err != nil {
		return tools.Result{}, err
	}
	i, err := ask(ctx, q.drive, "GetInteraction "+asked.ID, q.drive.process.current().GetInteraction, &providerproto.GetAgentProviderInteractionRequest{InteractionId: asked.ID, Subject: q.drive.subject()})
	if err != nil {
		return tools.Result{}, fmt.Errorf("read the question: %w", err)
	}
	if i.GetTurnId() != "" && i.GetTurnId() != q.drive.at.TurnID {
		return tools.Result{}, errors.New("the question belongs to another turn")
	}
	if call.Resumed == nil || len(call.Resumed.Answers) == 0 {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{requestOf(i)}}}, nil
	}
	return q.answer(ctx, i, &call.Resumed.Answers[0])
}

// requestOf returns a provider's question in the form shown to a person.
func requestOf(i *providerproto.AgentInteraction) interaction.Request {
	title, message := clip.At(maxTitle, clip.Clean(i.GetTitle())), clip.Clean(i.GetPrompt())
	if title == message {
		message = ""
	}
	if title != "" {
		message = strings.TrimSuffix(title+"\n"+message, "\n")
	}
	r := interaction.Request{ID: clip.Clean(i.GetId()), Action: tools.ActionAsk, Title: title, Message: clip.At(maxQuestion, message), ResponseSchema: textSchema}
	if i.GetRequest() != nil {
		r.Parameters = jsonOf(i.GetRequest())
	}
	switch i.GetType() {
	case providerproto.AgentInteractionType_AGENT_INTERACTION_TYPE_APPROVAL:
		r.Action, r.ResponseSchema = ActionApproval, approvalSchema
	case providerproto.AgentInteractionType_AGENT_INTERACTION_TYPE_INPUT:
		r.Kind, r.ResponseSchema = interaction.KindInput, inputSchema
	}
	return r
}

// answer passes an answer to the provider. Rejecting an approval answers no; rejecting any other
// question ends the turn.
func (q question) answer(ctx context.Context, i *providerproto.AgentInteraction, a *interaction.Answer) (tools.Result, error) {
	resolution := new(structpb.Struct)
	approval := i.GetType() == providerproto.AgentInteractionType_AGENT_INTERACTION_TYPE_APPROVAL
	var err error
	switch {
	case a.Action == interaction.Cancel && !approval:
		d := q.drive
		d.hosted.provider.host.service.CloseTurn(d.at.TurnID)
		if _, err := cancelTurn(ctx, d.process.current().Instance, &d.at, clip.Clean(cmp.Or(a.Reason, "the question was not answered"))); err != nil {
			return tools.Result{}, err
		}
		return tools.ErrorResult("the question was not answered"), nil
	case a.Action == interaction.Cancel:
		resolution, err = structpb.NewStruct(map[string]any{"approved": false, "reason": a.Reason})
	case approval, bytes.HasPrefix(bytes.TrimSpace(a.Result), []byte("{")):
		err = resolution.UnmarshalJSON(a.Result)
	default:
		var text string
		if err = json.Unmarshal(a.Result, &text); err == nil {
			resolution, err = structpb.NewStruct(map[string]any{"response": text})
		}
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("read the answer: %w", err)
	}
	_, err = ask(ctx, q.drive, resolveKey+i.GetId(), q.drive.process.current().ResolveInteraction, &providerproto.ResolveAgentProviderInteractionRequest{
		InteractionId: i.GetId(), Resolution: resolution, Subject: q.drive.subject(),
	})
	if err != nil && !errors.Is(err, errBusy) { // a busy provider got the answer
		return tools.Result{}, fmt.Errorf("answer the question: %w", err)
	}
	return tools.TextResult("answered"), nil
}
