package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/model"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// eventPage is the number of events per request.
	eventPage = 200
	// firstPoll and lastPoll bound the interval for polling events: it grows while there are none.
	firstPoll = time.Millisecond
	lastPoll  = 100 * time.Millisecond
	// gatherTime is how long a call waits for others made at the same time.
	gatherTime = time.Millisecond
)

// followTurn forwards events until the provider calls tools, asks a question, or its turn has
// ended.
func (d *drive) followTurn(ctx context.Context) error {
	pause := firstPoll
	if d.creation != nil { // most providers create turns at once
		if err := d.awaitChange(ctx, lastPoll); err != nil {
			return err
		}
	}
	for {
		if err := d.settleCreation(ctx); err != nil {
			return err
		}
		called := d.calls.HasCalls()
		if called && d.process.current().Capabilities.GetParallelToolCalls() {
			_ = wait.For(ctx, gatherTime)
		}
		done := false
		n, err := d.readEvents(ctx)
		if err == nil || d.isUnborn(err) {
			done, err = d.lookAtTurn(ctx, called)
		}
		if done {
			return err
		}
		if err != nil {
			if err := d.reattach(ctx, err); err != nil {
				return err
			}
			continue
		}
		if n > 0 {
			pause = firstPoll
		}
		if err := d.awaitChange(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, lastPoll)
	}
}

// isUnborn reports whether a call failed because the turn is still being created.
func (d *drive) isUnborn(err error) bool {
	return d.creation != nil && status.Code(err) == codes.NotFound
}

// awaitChange waits until the provider calls, has created the turn or loses its process, at most
// for wait.
func (d *drive) awaitChange(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var created <-chan struct{}
	if d.creation != nil {
		created = d.creation.done
	}
	select {
	case <-d.calls.Waiting():
	case <-created:
	case <-d.process.current().Lost():
	case <-timer.C:
	case <-ctx.Done():
		return backend.Ended(ctx)
	}
	return nil
}

// reattach finds the turn again after a failed call, in the process that replaced an ended one.
// It returns the error if the turn cannot continue.
func (d *drive) reattach(ctx context.Context, err error) error {
	lost := d.lostBy(ctx, err)
	if ended := backend.Ended(ctx); ended != nil {
		return ended
	}
	if errors.Is(err, errBusy) {
		return err
	}
	if lost && d.creation != nil {
		return d.awaitChange(ctx, lossPatience) // which says more
	}
	if !isSilence(err) && !lost {
		return d.explainError(ctx, "continue the turn", err)
	}
	if p := d.process.current(); lost && !p.Elsewhere && !p.Capabilities.GetResumableTurns() {
		return d.loseTurn(err)
	}
	d.releaseProcess()
	if err := d.attach(ctx); err != nil {
		return err
	}
	_, err = d.getTurn(ctx)
	if d.isUnborn(err) {
		return nil
	}
	if status.Code(err) == codes.NotFound {
		return d.loseTurn(err)
	}
	if isSilence(err) || err != nil && d.isLost() { // calls are canceled with their connection
		_ = wait.For(ctx, lastPoll)
		return backend.Ended(ctx)
	}
	return d.explainError(ctx, "continue the turn", err)
}

// isSilence reports whether a call failed because the provider was silent, which is a matter for
// its health check.
func isSilence(err error) bool {
	return status.Code(err) == codes.Unavailable || status.Code(err) == codes.DeadlineExceeded
}

// readEvents forwards the new events and returns their number.
func (d *drive) readEvents(ctx context.Context) (n int, err error) {
	for {
		page, err := ask(ctx, d, d.readKey(eventsKey), d.process.current().ListTurnEvents, &providerproto.ListAgentProviderTurnEventsRequest{
			TurnId: d.at.TurnID, AfterSeq: d.at.Seq, Limit: eventPage, Subject: d.subject(),
		})
		if err != nil {
			return n, err
		}
		for _, e := range page.GetEvents() {
			if e.GetSeq() <= d.at.Seq {
				return n, &TurnError{Code: CodeProtocol, Detail: fmt.Sprintf("the provider sent event %d after event %d", e.GetSeq(), d.at.Seq)}
			}
			d.at.Seq = e.GetSeq()
			if err := d.showEvent(e); err != nil {
				return n, err
			}
		}
		n += len(page.GetEvents())
		if len(page.GetEvents()) < eventPage {
			return n, nil
		}
	}
}

// lookAtTurn reports whether the answer is complete: the provider's turn has ended, waits for a
// person, or called tools.
func (d *drive) lookAtTurn(ctx context.Context, called bool) (done bool, err error) {
	turn, err := d.getTurn(ctx)
	switch {
	case d.isUnborn(err) && called:
		return true, d.passCalls()
	case d.isUnborn(err):
		return false, nil
	case status.Code(err) == codes.NotFound:
		return true, d.loseTurn(err)
	case err != nil:
		return false, err
	}
	if turn.GetSessionId() != d.at.SessionID {
		return true, &TurnError{Code: CodeProtocol, Detail: fmt.Sprintf("the provider has turn %q in session %q", turn.GetId(), turn.GetSessionId())}
	}
	switch s := turn.GetStatus(); {
	case !isLive(s):
		return d.finishTurn(ctx, turn)
	case called:
		return true, d.passCalls()
	case s == providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_WAITING_FOR_INPUT:
		return d.askQuestions(ctx)
	}
	return false, nil
}

// finishTurn ends the answer with the provider's turn.
func (d *drive) finishTurn(ctx context.Context, turn *providerproto.AgentTurn) (done bool, err error) {
	if _, err := d.readEvents(ctx); err != nil { // events stored before it ended
		return false, err
	}
	d.at.Live, d.creation = false, nil
	host := d.hosted.provider.host
	host.service.CloseTurn(d.at.TurnID)
	host.requests.endTurn(d.at.TurnID)
	switch turn.GetStatus() {
	case providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_SUCCEEDED:
		text := turn.GetOutputText()
		if d.env.Output != nil && turn.GetStructuredOutput() != nil {
			data, err := turn.GetStructuredOutput().MarshalJSON()
			if err != nil {
				return true, fmt.Errorf("read the provider's answer: %w", err)
			}
			text = string(data)
		}
		if err := d.said.conclude(text); err != nil {
			return true, err
		}
		return true, d.said.pass(model.Event{Type: model.EventFinish, Reason: model.FinishStop})
	case providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_CANCELED:
		return true, &TurnError{Detail: clip.Clean(cmp.Or(turn.GetStatusMessage(), "the provider canceled the turn"))}
	case providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_FAILED:
		return true, &TurnError{Code: CodeFailed, Detail: clip.Clean(cmp.Or(turn.GetStatusMessage(), d.said.failure, "the provider's turn has failed"))}
	default:
		return true, &TurnError{Code: CodeProtocol, Detail: fmt.Sprintf("the provider's turn has the status %s", turn.GetStatus())}
	}
}
