package a2a

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// handler handles the requests of all transports. Their agent is in the context.
type handler struct {
	server  *Server
	service *service.Service
	// sender is nil if notifications are disabled.
	sender *PushSender
}

var _ a2asrv.RequestHandler = (*handler)(nil)

// call is an admitted request: it sees only records that belong to its caller and were created for
// its agent.
type call struct {
	*handler
	agent  string
	caller service.Caller
	// extended is set if the caller activated the extension and so sees a task's usage.
	extended bool
	// spoken is the caller's protocol version, and userRole its name for the role of a caller.
	spoken   version
	userRole string
	// contexts are the contexts of the sessions that were looked up.
	contexts map[string]string
}

// admitRequest admits a request. It runs before every lookup, so that a request cannot find out
// about records that it may not see.
func (h *handler) admitRequest(ctx context.Context, tenant string) (*call, error) {
	e, ok := ctx.Value(envelopeKey{}).(*envelope)
	if !ok {
		return nil, errInternal
	}
	principal, ok := server.PrincipalFrom(ctx)
	if !ok {
		return nil, errNobody
	}
	if e.asked != e.spoken {
		return nil, wrongVersion(e.asked, e.spoken)
	}
	if err := checkTenant(tenant, e.agent, principal.Caller); err != nil {
		return nil, err
	}
	if agent, err := h.service.Catalog(ctx, principal.Caller).Agent(e.agent); err != nil || !agent.UsesTools() {
		return nil, unknownAgent(e.agent)
	}
	return &call{handler: h, agent: e.agent, caller: principal.Caller, extended: e.extended, spoken: e.spoken, userRole: e.userRole()}, nil
}

// getTurn returns the turn of a task.
func (c *call) getTurn(ctx context.Context, id a2a.TaskID) (*service.Turn, error) {
	if id == "" {
		return nil, errNoTaskID
	}
	t, err := service.FindOwn(c.caller, string(id), func(id string) (*service.Turn, error) { return c.service.GetTurn(ctx, c.caller, id) })
	if errors.Is(err, service.ErrNotFound) || err == nil && t.AgentID != c.agent {
		return nil, unknownTask(id)
	}
	return t, err
}

func configOf(req *a2a.SendMessageRequest) *a2a.SendMessageConfig {
	if req.Config == nil {
		return &a2a.SendMessageConfig{}
	}
	return req.Config
}

func checkHistory(n *int) error {
	if n != nil && *n < 0 {
		return newInvalidParams("historyLength is %d; it must not be negative", *n)
	}
	return nil
}

// stateOf returns the state of a live task, as far as the turn alone determines it.
func stateOf(turn *service.Turn) a2a.TaskState {
	switch {
	case turn.Status == service.Waiting:
		return a2a.TaskStateInputRequired
	case turn.Status == service.Pending && turn.StartedAt.IsZero():
		return a2a.TaskStateSubmitted
	default: // running, or continues once a worker is free
		return a2a.TaskStateWorking
	}
}

// endState returns the final state of a task.
func endState(why *event.Termination) a2a.TaskState {
	switch {
	case why.Status() == event.StatusSucceeded:
		return a2a.TaskStateCompleted
	case why.Status() == event.StatusCanceled:
		return a2a.TaskStateCanceled
	case why.Code == service.CodeUnresolved:
		return a2a.TaskStateRejected
	default:
		return a2a.TaskStateFailed
	}
}
