package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/model"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

// creation creates a turn at the provider while the turn is followed: the provider may call tools,
// ask questions and report events before it answers.
type creation struct {
	*openRequest
	instance *pool.Instance
	// repeat creates the turn again, at the current process.
	repeat func(context.Context) error
	// repeated is set for the second attempt.
	repeated bool
	// seen is the time of the provider's last sign of life.
	seen time.Time
}

// The steps of a creation, for errors.
const (
	sessionStep = "create the session"
	turnStep    = "create the turn"
)

// creationError reports why a turn was not created.
type creationError struct {
	what string
	err  error
}

func (e *creationError) Error() string { return e.what + ": " + e.err.Error() }
func (e *creationError) Unwrap() error { return e.err }

// startCreation starts creating the turn at the provider. known is set if the provider has the
// conversation so far.
func (d *drive) startCreation(ctx context.Context, req *model.Request, known, again bool) error {
	asked := *req
	asked.Messages = slices.Clone(req.Messages) // the loop adds to them
	session, err := d.sessionRequest()
	if err != nil {
		return err
	}
	turn, err := d.turnRequest(&asked)
	if err != nil {
		return err
	}
	c := &creation{instance: d.process.current().Instance, seen: time.Now()}
	c.repeat = func(ctx context.Context) error { return d.startCreation(ctx, req, known, again) }
	c.openRequest = d.hosted.provider.host.requests.start(ctx, d.at.TurnID, createKey, func(ctx context.Context) (any, error) {
		if !known {
			if err := createSession(ctx, c.instance, session); err != nil {
				return nil, err
			}
		}
		turn.Messages = d.newMessages(&asked, known, again)
		err := createTurn(ctx, c.instance, turn)
		if known && status.Code(err) == codes.NotFound { // the provider lost the session
			if err := createSession(ctx, c.instance, session); err != nil {
				return nil, err
			}
			turn.Messages = d.newMessages(&asked, false, again)
			err = createTurn(ctx, c.instance, turn)
		}
		return nil, err
	})
	d.creation = c
	return nil
}

// findCreation reports whether a creation from before the turn was suspended is still in progress.
func (d *drive) findCreation(req *model.Request) bool {
	e := d.hosted.provider.host.requests.find(d.at.TurnID, createKey)
	if e == nil {
		return false
	}
	d.creation = &creation{openRequest: e, instance: d.process.current().Instance, seen: time.Now()}
	d.creation.repeat = func(ctx context.Context) error { return d.startCreation(ctx, req, d.knowsSession(), false) }
	return true
}

// settleCreation returns why the turn was not created; nil while that is open.
func (d *drive) settleCreation(ctx context.Context) error {
	c := d.creation
	if c == nil {
		return nil
	}
	var err error
	most := d.hosted.provider.host.answers
	switch {
	case c.isDone():
		err = c.err
	case !d.calls.HasCalls() && time.Since(c.seen) > most:
		err = &creationError{turnStep, status.Errorf(codes.DeadlineExceeded, "no answer within %s", most)}
	default:
		return nil
	}
	d.creation = nil
	if err == nil {
		d.hosted.provider.host.requests.drop(d.at.TurnID, createKey)
		return nil
	}
	failed, ok := errors.AsType[*creationError](err)
	if !ok {
		return d.explainError(ctx, turnStep, err)
	}
	if again, err := d.repeatCreation(ctx, c, failed); again || err != nil {
		return err
	}
	return d.explainError(ctx, failed.what, failed.err)
}

// repeatCreation creates the turn again if the process was lost before it had the turn.
func (d *drive) repeatCreation(ctx context.Context, c *creation, failed *creationError) (again bool, err error) {
	if lost := c.instance != d.process.current().Instance || d.lostBy(ctx, failed.err); !lost || c.repeated || ctx.Err() != nil {
		return false, nil
	}
	began := failed.what == turnStep
	if began && !d.process.current().Capabilities.GetResumableTurns() {
		return false, nil
	}
	d.hosted.provider.host.requests.drop(d.at.TurnID, createKey)
	d.releaseProcess()
	if err := d.attach(ctx); err != nil {
		return false, err
	}
	if began {
		if _, err := d.getTurn(ctx); status.Code(err) != codes.NotFound {
			return true, nil // following the turn reveals other errors
		}
	}
	if err := c.repeat(ctx); err != nil {
		return false, err
	}
	d.creation.repeated = true
	return true, nil
}

// sessionRequest returns the request that creates or finds the session at the provider.
func (d *drive) sessionRequest() (*providerproto.CreateAgentProviderSessionRequest, error) {
	metadata, err := structOf(d.hosted.options.Metadata)
	if err != nil {
		return nil, err
	}
	request := &providerproto.CreateAgentProviderSessionRequest{
		SessionId: d.at.SessionID, IdempotencyKey: d.at.SessionID, Model: d.hosted.options.Model, ClientRef: d.job.SessionID,
		Metadata: metadata, CreatedBy: d.actor(), Subject: d.subject(),
	}
	if request.PreparedWorkspace, err = d.preparedWorkspace(); err != nil {
		return nil, &TurnError{Code: CodeWorkspace, Detail: err.Error(), Err: err}
	}
	return request, nil
}

// turnRequest returns the request that creates the turn at the provider, without its messages.
func (d *drive) turnRequest(req *model.Request) (*providerproto.CreateAgentProviderTurnRequest, error) {
	create := &providerproto.CreateAgentProviderTurnRequest{
		TurnId: d.at.TurnID, SessionId: d.at.SessionID, IdempotencyKey: d.at.TurnID, Model: d.hosted.options.Model,
		ExecutionRef: d.job.TurnID, CreatedBy: d.actor(), Subject: d.subject(), RunGrant: d.calls.Grant,
	}
	var err error
	if create.ModelOptions, err = structOf(d.modelOptions(req)); err != nil {
		return nil, err
	}
	if req.Output != nil {
		create.ResponseSchema = new(structpb.Struct)
		if err := create.ResponseSchema.UnmarshalJSON(req.Output.Schema); err != nil {
			return nil, fmt.Errorf("encode the form of the answer: %w", err)
		}
	}
	if len(d.calls.Tools) > 0 && listsTools(d.process.current().Capabilities) {
		create.ToolSource = providerproto.AgentToolSourceMode_AGENT_TOOL_SOURCE_MODE_MCP_CATALOG
		create.ToolRefs = []*providerproto.AgentToolRef{{Plugin: "*"}}
	}
	return create, nil
}

// createSession creates a session at a provider.
func createSession(ctx context.Context, i *pool.Instance, request *providerproto.CreateAgentProviderSessionRequest) error {
	made, err := i.CreateSession(ctx, request)
	if err == nil && made.GetId() != request.GetSessionId() {
		err = &TurnError{Code: CodeProtocol, Detail: fmt.Sprintf("the provider returned session %q instead of %q", made.GetId(), request.GetSessionId())}
	}
	if err != nil {
		return &creationError{sessionStep, err}
	}
	return nil
}

// createTurn creates a turn at a provider.
func createTurn(ctx context.Context, i *pool.Instance, request *providerproto.CreateAgentProviderTurnRequest) error {
	made, err := i.CreateTurn(ctx, request)
	if err == nil && (made.GetId() != request.GetTurnId() || made.GetSessionId() != request.GetSessionId()) {
		err = &TurnError{Code: CodeProtocol, Detail: fmt.Sprintf("the provider returned turn %q of session %q instead of %q of %q",
			made.GetId(), made.GetSessionId(), request.GetTurnId(), request.GetSessionId())}
	}
	if err != nil {
		return &creationError{turnStep, err}
	}
	return nil
}
