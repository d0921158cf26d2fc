package agents

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// readRequest reads the envelope of a request.
func (c *call) readRequest() (*wire.Request, error) {
	body, err := io.ReadAll(c.r.Body)
	if err != nil {
		return nil, err
	}
	request := new(wire.Request)
	if len(body) == 0 {
		return request, nil
	}
	return request, server.DecodeJSON(body, request, true)
}

// wantsStream reports whether a request asks for a stream: by its query, or by
// text/event-stream in a list of its Accept header.
func wantsStream(r *http.Request) (bool, error) {
	if text := r.URL.Query().Get("stream"); text != "" {
		stream, err := strconv.ParseBool(text)
		if err != nil {
			return false, newError(wire.StatusInvalidArgument, "stream must be true or false")
		}
		return stream, nil
	}
	for _, header := range r.Header.Values("Accept") {
		for entry := range strings.SplitSeq(header, ",") {
			mediaType, params, err := mime.ParseMediaType(entry)
			if err != nil || mediaType != "text/event-stream" {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err != nil || q > 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// runningTurn is a turn that a request began or continued.
type runningTurn struct {
	*service.Turn
	sessionID string
	// after is the last event from before the request.
	after uint64
}

// runTurn runs one turn of a conversation. Errors of the request and of its init have
// an HTTP status; errors of the turn are part of its output.
func (c *call) runTurn() error {
	stream, err := wantsStream(c.r)
	if err != nil {
		return err
	}
	request, err := c.readRequest()
	if err != nil {
		return err
	}
	init, err := wire.DecodeInit(request.Init)
	if err != nil {
		return err
	}
	input, err := wire.DecodeInput(request.Data)
	if err != nil {
		return err
	}
	talk, err := c.openConversation(init)
	if err != nil {
		return err
	}
	turn, problem, err := c.beginTurn(talk, input)
	switch {
	case err != nil:
		return err
	case problem != nil:
		out := &wire.Output{SessionID: talk.id, SnapshotID: talk.lastGood, FinishReason: wire.FinishFailed, Error: problem}
		return c.writeOutput(stream, out)
	case input.Detach:
		return c.writeOutput(stream, &wire.Output{SessionID: talk.id, SnapshotID: turn.ID, FinishReason: wire.FinishDetached})
	case stream:
		c.streamTurn(turn)
		return nil
	}
	if turn.Turn, err = c.awaitTurn(c.r.Context(), turn.ID, turn.after); err != nil {
		return err
	}
	out, err := c.toOutput(c.r.Context(), turn)
	if err != nil {
		return err
	}
	return c.writeOutput(false, out)
}

// beginTurn begins a turn or continues one that was interrupted. A problem is an error
// of the turn.
func (c *call) beginTurn(talk *conversation, input *wire.Input) (turn *runningTurn, problem *wire.Error, err error) {
	if !input.Resume.IsEmpty() {
		return c.resumeTurn(talk, input)
	}
	if talk.waiting != nil {
		return nil, newError(wire.StatusFailedPrecondition, "the conversation is interrupted: answer its tool requests with resume.respond"), nil
	}
	if input.Message == nil {
		return nil, newError(wire.StatusInvalidArgument, "a turn needs a message or resume"), nil
	}
	message, problem := toModelMessage(input.Message)
	if problem != nil {
		return nil, problem, nil
	}
	if err := c.ensureSession(talk); err != nil {
		return nil, nil, err
	}
	create := service.CreateTurn{SessionID: talk.session.ID, AgentID: c.agent, SnapshotID: talk.snapshot, Background: true}
	create.Input = append(create.Input, message)
	kept, err := c.settings.Service.CreateTurn(c.r.Context(), c.caller, create)
	if err != nil {
		return nil, nil, nameError(err, "session", talk.id)
	}
	return &runningTurn{Turn: kept, sessionID: talk.id}, nil, nil
}

// resumeTurn answers what interrupted a turn, which then continues.
func (c *call) resumeTurn(talk *conversation, input *wire.Input) (*runningTurn, *wire.Error, error) {
	switch {
	case len(input.Resume.Restart) > 0:
		return nil, newError(wire.StatusUnimplemented, "resume.restart is not supported: answer with resume.respond"), nil
	case input.Message != nil:
		return nil, newError(wire.StatusUnimplemented, "a message cannot accompany resume: send it in the next turn"), nil
	case talk.waiting == nil:
		return nil, newError(wire.StatusInvalidArgument, "resume.respond answers no open tool request of the conversation"), nil
	}
	ctx, turn := c.r.Context(), talk.waiting
	open, err := c.openInteractions(ctx, turn.ID)
	if err != nil {
		return nil, nil, err
	}
	answers := make([]interaction.Answer, 0, len(open))
	for _, asked := range open {
		response := findResponse(input.Resume.Respond, &asked.Request)
		if response == nil {
			return nil, newError(wire.StatusInvalidArgument, "resume.respond has no toolResponse for the tool %q with ref %q", asked.Request.Tool, asked.Request.CallID), nil
		}
		answer := interaction.Answer{Target: asked.ID, Action: interaction.Resume, Result: response.Output}
		if err := interaction.Check(&asked.Request, &answer); err != nil {
			return nil, newError(wire.StatusInvalidArgument, "resume.respond: %s", err), nil
		}
		answers = append(answers, answer)
	}
	if len(input.Resume.Respond) != len(answers) {
		return nil, newError(wire.StatusInvalidArgument, "resume.respond has %d parts; the conversation has %d open tool requests", len(input.Resume.Respond), len(answers)), nil
	}
	for i := range answers {
		if _, err := c.settings.Service.AnswerInteraction(ctx, c.caller, turn.ID, answers[i]); err != nil {
			return nil, nil, err
		}
	}
	return &runningTurn{Turn: turn, sessionID: talk.id, after: turn.Seq}, nil, nil
}

// findResponse returns the response to an interaction, or nil.
func findResponse(parts []wire.Part, asked *interaction.Request) *wire.ToolResponse {
	for i := range parts {
		if r := parts[i].ToolResponse; r.Name == asked.Tool && r.Ref == asked.CallID {
			return r
		}
	}
	return nil
}

// openInteractions returns what a turn waits for.
func (c *call) openInteractions(ctx context.Context, turnID string) ([]*service.Interaction, error) {
	return c.settings.Service.ListInteractions(ctx, c.caller, service.InteractionQuery{TurnID: turnID, State: service.InteractionPending})
}

// awaitTurn returns a turn once it has ended or waits for a person.
func (c *call) awaitTurn(ctx context.Context, id string, after uint64) (*service.Turn, error) {
	for record, err := range c.settings.Service.Events(ctx, c.caller, id, after) {
		if err != nil {
			return nil, err
		}
		if record.Type != event.TypeRunWaiting {
			continue
		}
		if t, err := c.settings.Service.GetTurn(ctx, c.caller, id); err == nil && t.Status == service.Waiting {
			return t, nil
		}
	}
	t, err := c.settings.Service.GetTurn(ctx, c.caller, id)
	if err == nil && t.Status.Live() && t.Status != service.Waiting {
		err = errors.New("the events of the turn ended before it")
	}
	return t, err
}

// writeOutput answers with an output that is known at once.
func (c *call) writeOutput(stream bool, out *wire.Output) error {
	if !stream {
		return server.WriteJSON(c.w, http.StatusOK, wire.Reply[*wire.Output]{Result: out})
	}
	server.ServeEvents(c.w, c.r, func(_ context.Context, events *server.EventStream) {
		_ = sendFrame(events, &wire.Frame{Result: out}) // the client may be gone
	})
	return nil
}
