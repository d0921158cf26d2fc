package agui

import (
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// turnRecord is stored with a turn for its readers.
type turnRecord struct {
	ParentRunID    string          `json:"parent_run_id,omitempty"`
	ForwardedProps json.RawMessage `json:"forwarded_props,omitempty"`
}

// startRun begins a run, or continues or repeats one.
func (c *call) startRun() (any, error) {
	in, err := c.readInput()
	if err != nil {
		return nil, err
	}
	if _, err := c.Service.Catalog(c.Context(), c.Caller).Agent(c.R.PathValue("agent")); err != nil {
		return nil, err
	}
	x := &exchange{call: c, in: in}
	if x.history, err = in.history(); err != nil {
		return nil, err
	}
	if x.session, err = c.newThreads().Find(c.Context(), in.ThreadID); err != nil {
		return nil, err
	}
	if x.session != nil {
		if done, err := x.joinRun(); done || err != nil {
			return nil, err
		}
	}
	switch _, speaks := x.newInput(); {
	case len(in.Resume) > 0:
		return nil, x.streamRefusal(unknownInterrupt(in.Resume[0].InterruptID))
	case !speaks:
		return nil, x.streamThread(nil)
	default:
		return nil, x.beginTurn()
	}
}

// joinRun responds with an existing run if the request repeats, continues or follows one.
func (x *exchange) joinRun() (done bool, err error) {
	if turn, err := x.FindTurn(x.session, x.in.RunID); turn != nil || err != nil {
		if err == nil {
			err = x.streamTurn(turn, 0)
		}
		return true, err
	}
	if id := x.answeredTurn(); id != "" {
		turn, err := x.FindTurn(x.session, id)
		if turn != nil {
			return true, x.answerTurn(turn)
		}
		if err == nil && len(x.in.Resume) > 0 {
			return true, x.streamRefusal(unknownInterrupt(x.in.Resume[0].InterruptID))
		}
		if err != nil {
			return true, err
		}
	}
	latest, err := surfacekit.LatestTurn(x.Context(), x.Service, x.Caller, x.session.ID)
	if err != nil || latest == nil || !latest.Status.Live() {
		return false, err
	}
	_, speaks := x.newInput()
	switch {
	case !speaks:
		return true, x.streamThread(latest)
	case latest.Status != service.Waiting:
		return true, &service.BusyError{SessionID: x.session.ID, TurnID: latest.ID}
	default:
		return true, x.answerTurn(latest)
	}
}

// answeredTurn returns the turn whose questions the request answers: with resume, or with
// results of tools as the last messages.
func (x *exchange) answeredTurn() string {
	if n := len(x.in.Resume); n > 0 {
		return surfacekit.TurnOf(x.in.Resume[n-1].InterruptID)
	}
	if n := len(x.in.Messages); n > 0 && x.in.Messages[n-1].Role == surfacekit.RoleTool {
		return surfacekit.TurnOf(x.in.Messages[n-1].ToolCallID)
	}
	return ""
}

// answerTurn answers a turn and streams the rest. Repeating the same answers gives the same stream;
// without answers the interrupts are announced again.
func (x *exchange) answerTurn(turn *service.Turn) error {
	n, err := x.ReadTurn(turn.ID)
	if err != nil {
		return err
	}
	segment, err := x.answeredSegment(n)
	if err != nil {
		return x.streamRefusal(err)
	}
	answers, err := x.answers(x.Context(), n, segment)
	if err != nil {
		return x.streamRefusal(err)
	}
	if answers == nil {
		return x.streamQuestions(n)
	}
	said, err := x.readMessage(turn.ID)
	if err != nil {
		return err
	}
	again, err := x.AnswerTurn(turn.ID, answers, said)
	if err != nil {
		return x.streamRefusal(err)
	}
	return x.streamTurn(again, segment+1)
}

// beginTurn begins a turn.
func (x *exchange) beginTurn() error {
	var err error
	if x.session, err = x.newThreads().Open(x.Context(), x.in.ThreadID); err != nil {
		return err
	}
	turn, err := x.ContinueHistory(x.session, x.history)
	if err != nil {
		return err
	}
	turn.ID = x.in.RunID
	if turn.Custom, err = x.changedState(turn.SnapshotID); err != nil {
		return err
	}
	record := turnRecord{ForwardedProps: x.in.ForwardedProps}
	if x.in.ParentRunID != nil {
		record.ParentRunID = *x.in.ParentRunID
	}
	if turn.Metadata, err = own.Encode(record); err != nil {
		return err
	}
	brought := surfacekit.Brought{Surface: string(own), Instructions: x.in.instructions(), Functions: x.in.functions()}
	if err := brought.AddTo(x.Context(), x.Service, x.session, turn, x.in.ForwardedProps); err != nil {
		return err
	}
	made, err := x.Service.CreateTurn(x.Context(), x.Caller, *turn)
	if errors.As(err, new(*service.ExistsError)) { // possibly the same request, sent concurrently
		begun, err := x.FindTurn(x.session, x.in.RunID)
		if begun == nil && err == nil {
			err = badField("runId", "is used by another run")
		}
		if err != nil {
			return err
		}
		return x.streamTurn(begun, 0)
	}
	if invalid, ok := errors.AsType[*service.InvalidError](err); ok {
		switch invalid.Field {
		case "id":
			return badField("runId", "must be 1 to 128 letters, digits, '_', '.', ':' or '-'")
		case "variables":
			return badField("forwardedProps", "%s", invalid.Problem)
		}
	}
	if err != nil {
		return err
	}
	return x.streamTurn(made, 0)
}
