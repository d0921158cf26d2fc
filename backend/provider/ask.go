package provider

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errBusy reports that the provider called tools and waits for their results before it answers.
var errBusy = errors.New("the provider waits for the results of its tool calls")

const (
	// answerLimit is the default time limit for answers.
	answerLimit = 30 * time.Second
	// busyPatience is how long to wait for an answer while calls wait for the turn.
	busyPatience = 200 * time.Millisecond
)

// The keys of the requests that create a turn, read it and its events, and answer a question.
const (
	createKey  = "CreateTurn"
	turnKey    = "GetTurn"
	eventsKey  = "ListTurnEvents"
	resolveKey = "ResolveInteraction "
)

// readKey returns the key of a request that reads the turn. Requests sent during the creation have
// a separate key, because their answers may not know the turn.
func (d *drive) readKey(key string) string {
	if d.creation != nil {
		return "early " + key
	}
	return key
}

// ask calls the provider for a turn. It returns errBusy if the provider calls tools first; the next
// ask with the same key then returns the answer.
func ask[In, Out any](ctx context.Context, d *drive, key string, call func(context.Context, In, ...grpc.CallOption) (Out, error), in In) (out Out, err error) {
	if ctx.Err() != nil {
		return out, status.FromContextError(ctx.Err()).Err()
	}
	open, turnID := &d.hosted.provider.host.requests, d.at.TurnID
	e := open.start(ctx, turnID, key, func(ctx context.Context) (any, error) { return call(ctx, in) })
	if err := d.awaitAnswer(ctx, e); err != nil {
		if status.Code(err) == codes.DeadlineExceeded {
			open.drop(turnID, key)
		}
		return out, err
	}
	open.drop(turnID, key)
	out, _ = e.reply.(Out)
	return out, e.err
}

// awaitAnswer waits for a request's answer, or returns why it stopped waiting.
func (d *drive) awaitAnswer(ctx context.Context, e *openRequest) error {
	most := d.hosted.provider.host.answers
	limit := time.NewTimer(most)
	defer limit.Stop()
	var waiting <-chan struct{}
	if d.calls != nil {
		waiting = d.calls.Waiting()
	}
	var patience <-chan time.Time
	for {
		select {
		case <-e.done:
			return nil
		case <-waiting:
			waiting, patience = nil, time.After(busyPatience)
		case <-patience:
			return errBusy
		case <-limit.C:
			return status.Errorf(codes.DeadlineExceeded, "no answer within %s", most)
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

func (d *drive) getTurn(ctx context.Context) (*providerproto.AgentTurn, error) {
	turn, err := ask(ctx, d, d.readKey(turnKey), d.process.current().GetTurn, &providerproto.GetAgentProviderTurnRequest{TurnId: d.at.TurnID, Subject: d.subject()})
	if err == nil && d.creation != nil {
		d.creation.seen = time.Now()
	}
	return turn, err
}
