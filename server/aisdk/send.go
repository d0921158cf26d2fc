package aisdk

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// answerMessage answers the last message, or continues the turn that the assistant's last message
// answers.
func (c *call) answerMessage() (any, error) {
	in, err := c.readRequest()
	if err != nil {
		return nil, err
	}
	if _, err := c.Service.Catalog(c.Context(), c.Caller).Agent(c.R.PathValue("agent")); err != nil {
		return nil, err
	}
	history, err := in.history()
	if err != nil {
		return nil, err
	}
	session, err := c.newChats().Find(c.Context(), in.ID)
	if err != nil {
		return nil, err
	}
	if in.last().Role == surfacekit.RoleAssistant {
		return nil, c.continueTurn(in, session)
	}
	made, err := c.beginTurn(in, history)
	if busy, ok := errors.AsType[*service.BusyError](err); ok {
		ended, failed := c.endWaiting(busy.TurnID)
		if failed != nil {
			return nil, failed
		}
		if ended {
			made, err = c.beginTurn(in, history)
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, c.streamTurn(made, 0, 0, false)
}

// endWaiting cancels a turn that waits for answers if the user says something else; false if the
// turn is not waiting.
func (c *call) endWaiting(id string) (bool, error) {
	turn, err := c.Service.GetTurn(c.Context(), c.Caller, id)
	if err != nil || turn.Status != service.Waiting {
		return false, err
	}
	_, err = c.Service.CancelTurn(c.Context(), c.Caller, id, "the user said something else")
	return true, err
}

// beginTurn begins a turn; a repeated message returns its first turn. The error is a
// *service.BusyError if another turn of the chat is running.
func (c *call) beginTurn(in *chatRequest, history []model.Message) (*service.Turn, error) {
	session, err := c.newChats().Open(c.Context(), in.ID)
	if err != nil {
		return nil, err
	}
	turn, err := c.ContinueHistory(session, history)
	if errors.Is(err, surfacekit.ErrNoInput) {
		return nil, badField("messages", "%s", err)
	}
	if err != nil {
		return nil, err
	}
	turn.ID = c.Service.NewID()
	if in.Trigger != triggerRegenerate && in.MessageID == nil && in.last().ID != "" { // the page may send it twice
		body, err := json.Marshal(in.last())
		if err != nil {
			return nil, err
		}
		turn.IdempotencyKey, turn.IdempotencyBody = surfacekit.HashKey(string(own), string(body)), body
	}
	record := turnRecord{}
	for _, f := range in.Tools {
		record.Functions = append(record.Functions, f.Name)
	}
	if turn.Metadata, err = own.Encode(record); err != nil {
		return nil, err
	}
	brought := surfacekit.Brought{Surface: string(own), Functions: in.Tools}
	if err := brought.AddTo(c.Context(), c.Service, session, turn, in.Variables); err != nil {
		return nil, err
	}
	return c.Service.CreateTurn(c.Context(), c.Caller, *turn)
}

// continueTurn passes the outputs and decisions in the message to a turn and streams the rest.
// Earlier decisions stand.
func (c *call) continueTurn(in *chatRequest, session *service.Session) error {
	ctx, s := c.Context(), c.Service
	message := in.last()
	var turn *service.Turn
	var err error
	if session != nil {
		turn, err = c.FindTurn(session, message.ID)
	}
	if err != nil {
		return err
	}
	if turn == nil {
		return badField("messages", "the last message %q is not part of this chat", clip.Text(message.ID))
	}
	n, err := c.ReadTurn(turn.ID)
	if err != nil {
		return err
	}
	asked := n.Segment - 1
	if asked < 0 {
		return badField("messages", "the last message must be one of the user")
	}
	answers, err := answersIn(ctx, message, n, asked)
	if err != nil {
		return err
	}
	for _, a := range answers {
		_, err := s.AnswerInteraction(ctx, c.Caller, turn.ID, a)
		if errors.As(err, new(*service.ConflictError)) {
			continue // another page was first
		}
		if err != nil {
			return err
		}
	}
	again, err := s.GetTurn(ctx, c.Caller, turn.ID)
	if err != nil {
		return err
	}
	return c.streamTurn(again, asked+1, asked+1, false)
}

// answersIn returns the answers in a message to the open questions of an answer.
func answersIn(ctx context.Context, message *uiMessage, n *surfacekit.Narrator, asked int) ([]interaction.Answer, error) {
	given := map[string]*part{}
	for i := range message.Parts {
		p := &message.Parts[i]
		if !p.isCall() {
			continue
		}
		if given[p.ToolCallID] != nil {
			return nil, badField("messages", "the last message has the call %q twice", clip.Text(p.ToolCallID))
		}
		given[p.ToolCallID] = p
	}
	var answers []interaction.Answer
	for _, q := range n.Questions {
		if q.Answered || q.Segment != asked {
			continue
		}
		var p *part
		if q.Call != nil {
			p = given[q.Call.ID]
		}
		var a interaction.Answer
		var err error
		switch {
		case p != nil && q.RunsAtClient() && (p.State == stateOutput || p.State == stateError):
			text := p.outputText()
			output := clienttool.Answer{Result: &text}
			if p.State == stateError {
				output = clienttool.Answer{Error: &text}
			}
			a, err = surfacekit.AnswerCall(q.InteractionRequest, output)
		case p != nil && !q.RunsAtClient() && !q.IsWords() && p.Approval != nil && p.Approval.ID == q.ID && p.Approval.Approved != nil:
			a, err = surfacekit.AnswerApproval(ctx, q.InteractionRequest, *p.Approval.Approved, p.Approval.Reason)
		default:
			err = badField("messages", "the call %q has no answer", clip.Text(q.CallID))
		}
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// resumeStream streams the chat's current answer from its beginning; 204 if absent.
func (c *call) resumeStream() (any, error) {
	session, err := c.newChats().Find(c.Context(), c.R.PathValue("chat"))
	var latest *service.Turn
	if session != nil && err == nil {
		latest, err = surfacekit.LatestTurn(c.Context(), c.Service, c.Caller, session.ID)
	}
	if err != nil {
		return nil, err
	}
	if latest == nil || !latest.Status.Live() || latest.Status == service.Waiting {
		c.W.WriteHeader(http.StatusNoContent)
		return nil, nil
	}
	n, err := c.ReadTurn(latest.ID)
	if err != nil {
		return nil, err
	}
	return nil, c.streamTurn(latest, 0, n.Segment, true)
}
