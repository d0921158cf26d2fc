package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workspace"
	"go.uber.org/zap"
)

// Class is a kind of failure. Each surface has an error format for each class.
type Class int

// The classes.
const (
	// ClassInternal is a failure whose cause is logged and hidden from callers.
	ClassInternal Class = iota
	// ClassGone is a request whose client has disconnected.
	ClassGone
	// ClassUnresolvable is an agent that currently cannot be run.
	ClassUnresolvable
	// ClassDraining, ClassReadOnly and ClassStoreDown may succeed on a retry.
	ClassDraining
	ClassReadOnly
	ClassStoreDown
	// ClassNotFound is a record, and ClassNoAgent an agent, that does not exist or
	// that the caller may not use.
	ClassNotFound
	ClassNoAgent
	// ClassInvalid, ClassMismatch, ClassCursor, ClassText and ClassUnfitAnswer are
	// invalid requests: a bad field, a feature that the backend of the agent lacks,
	// a bad page cursor, a text that cannot be stored, and a bad answer to an
	// interaction.
	ClassInvalid
	ClassMismatch
	ClassCursor
	ClassText
	ClassUnfitAnswer
	// ClassSessionStart is a session that did not begin because a program failed.
	ClassSessionStart
	// ClassWorkspace is a session whose workspace is not allowed or could not be
	// prepared.
	ClassWorkspace
	// ClassTooLarge is a body above the size limit.
	ClassTooLarge
	// ClassTooDeep is a delegation that is nested too deep.
	ClassTooDeep
	// The others conflict with the current state.
	ClassExists
	ClassKeyConflict
	ClassBusy
	ClassWrongState
	ClassAnswered
	ClassLimit
)

// outcomes are the responses for each class, for protocols without an error format.
var outcomes = [...]struct {
	status int
	code   string
	retry  bool
}{
	ClassInternal:     {http.StatusInternalServerError, "internal", false},
	ClassGone:         {http.StatusInternalServerError, "internal", false},
	ClassUnresolvable: {http.StatusInternalServerError, "internal", false},
	ClassDraining:     {http.StatusServiceUnavailable, "unavailable", true},
	ClassReadOnly:     {http.StatusServiceUnavailable, "unavailable", true},
	ClassStoreDown:    {http.StatusServiceUnavailable, "unavailable", true},
	ClassNotFound:     {http.StatusNotFound, "not_found", false},
	ClassNoAgent:      {http.StatusBadRequest, "agent_not_found", false},
	ClassInvalid:      {http.StatusBadRequest, "invalid_request", false},
	ClassMismatch:     {http.StatusBadRequest, "invalid_request", false},
	ClassText:         {http.StatusBadRequest, "invalid_request", false},
	ClassTooDeep:      {http.StatusBadRequest, "invalid_request", false},
	ClassCursor:       {http.StatusBadRequest, "invalid_cursor", false},
	ClassUnfitAnswer:  {http.StatusBadRequest, "unfit_answer", false},
	ClassSessionStart: {http.StatusInternalServerError, "internal", false},
	ClassWorkspace:    {http.StatusPreconditionFailed, "failed_precondition", false},
	ClassTooLarge:     {http.StatusRequestEntityTooLarge, "too_large", false},
	ClassExists:       {http.StatusConflict, "exists", false},
	ClassKeyConflict:  {http.StatusConflict, "key_conflict", false},
	ClassBusy:         {http.StatusConflict, "busy", false},
	ClassWrongState:   {http.StatusConflict, "wrong_state", false},
	ClassAnswered:     {http.StatusConflict, "answered", false},
	ClassLimit:        {http.StatusConflict, "limit", false},
}

// Details are the fields of the error that caused a failure.
type Details struct {
	Kind      string `json:"kind,omitempty"`
	ID        string `json:"id,omitempty"`
	Nearest   string `json:"nearest,omitempty"`
	Field     string `json:"field,omitempty"`
	Problem   string `json:"problem,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	TurnID    string `json:"turn_id,omitempty"`
	State     string `json:"state,omitempty"`
	Want      string `json:"want,omitempty"`
	Key       string `json:"key,omitempty"`
	Conflict  bool   `json:"conflict,omitempty"`
	// Revision is the number of the current revision, and Hash its hash.
	Revision uint64 `json:"revision,omitempty"`
	Hash     string `json:"hash,omitempty"`
	// UsedBy are the places that refer to the entry to be removed.
	UsedBy []string `json:"used_by,omitempty"`
	// Findings are the diagnostics of a document.
	Findings diag.List `json:"findings,omitempty"`
	// Tenants are the tenants whose overlays would break.
	Tenants []string `json:"tenants,omitempty"`
}

// Failure is an error in the form shown to callers.
type Failure struct {
	Class Class
	// Status is the HTTP status, and Code a machine-readable word.
	Status int
	Code   string
	// Retry reports whether the same request may succeed later.
	Retry bool
	// Message is a sentence for callers that reveals no internals.
	Message string
	// Details is the machine-readable form of the message.
	Details Details
}

var (
	// ErrUnauthenticated means that a server without credentials would have listened on an address
	// that other machines can reach.
	ErrUnauthenticated = errors.New("without keys the server may only listen on loopback")
	// ErrDraining is the cancellation cause of the contexts of streams when the
	// server shuts down.
	ErrDraining = errors.New("the server is shutting down")
	// ErrCutShort means that requests did not end in time, and were canceled.
	ErrCutShort = errors.New("requests were cut short")
)

const (
	// MaxMessage bounds the message of a failure, in bytes.
	MaxMessage = 4 << 10
	// maxDetail bounds each text of the details of a failure, in bytes.
	maxDetail = 1 << 10
)

// Classify converts an error of the service to a Failure. ctx is the context of the request.
// Caller-supplied text in the error is shortened.
func Classify(ctx context.Context, err error) *Failure {
	f := classifyError(ctx, err)
	f.Message = clip.At(MaxMessage, f.Message)
	d := &f.Details
	for _, text := range []*string{&d.ID, &d.Nearest, &d.Field, &d.Problem, &d.SessionID, &d.TurnID, &d.Key} {
		*text = clip.At(maxDetail, *text)
	}
	return f
}

func classifyError(ctx context.Context, err error) *Failure {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return &Failure{Class: ClassInvalid, Status: r.Status, Code: r.Code, Message: r.Message, Details: r.Details}
	}
	for _, read := range failures {
		if f := read(err); f != nil {
			return f
		}
	}
	switch {
	case errors.Is(context.Cause(ctx), ErrDraining):
		return failureOf(ClassDraining, ErrDraining, Details{})
	case errors.Is(err, service.ErrNotWritable):
		return failureOf(ClassReadOnly, service.ErrNotWritable, Details{})
	case errors.Is(err, service.ErrUnavailable):
		return failureOf(ClassStoreDown, service.ErrUnavailable, Details{})
	case ctx.Err() != nil:
		return failureOf(ClassGone, context.Cause(ctx), Details{})
	case errors.As(err, new(*resolve.Error)):
		return failureOf(ClassUnresolvable, errHidden, Details{})
	default:
		return failureOf(ClassInternal, errHidden, Details{})
	}
}

// Refusal is a handler error that specifies its own response.
type Refusal struct {
	// Status is the HTTP status, and Code a machine-readable word.
	Status  int
	Code    string
	Message string
	Details Details
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// errHidden replaces errors that callers must not see.
var errHidden = errors.New("internal error; see the server log")

// failures match the errors that callers may see.
var failures = []func(error) *Failure{
	matchErrorType(ClassTooLarge, func(e *http.MaxBytesError) Details {
		return Details{Problem: fmt.Sprintf("the body is larger than %d bytes", e.Limit)}
	}),
	matchErrorType(ClassInvalid, func(e *BodyError) Details { return Details{Field: "body", Problem: e.Error()} }),
	matchErrorType(ClassNotFound, func(e *service.NotFoundError) Details { return Details{Kind: e.Kind, ID: e.ID} }),
	matchErrorType(ClassNoAgent, func(e *resolve.AgentNotFoundError) Details { return Details{ID: e.ID, Nearest: e.Nearest} }),
	matchErrorType(ClassInvalid, func(e *service.InvalidError) Details { return Details{Field: e.Field, Problem: e.Problem} }),
	matchErrorType(ClassMismatch, func(e *backend.MismatchError) Details { return Details{Field: "agent_id", Problem: e.Error()} }),
	matchErrorType(ClassMismatch, func(e *backend.CapabilityError) Details { return Details{Field: "agent_id", Problem: e.Error()} }),
	matchError(ClassInvalid, runtime.ErrNoInput, Details{Field: "input"}),
	matchError(ClassCursor, service.ErrCursor, Details{}),
	matchError(ClassText, service.ErrText, Details{Problem: service.ErrText.Error()}),
	matchErrorType(ClassUnfitAnswer, func(e *interaction.AnswerError) Details {
		return Details{ID: e.Target, Problem: e.Problem, Conflict: e.Conflict}
	}),
	matchErrorType(ClassSessionStart, func(e *sessionstart.Error) Details { return Details{ID: e.Hook, Problem: e.Problem} }),
	matchErrorType(ClassWorkspace, func(e *workspace.PolicyError) Details { return Details{Field: "workspace", Problem: e.Problem} }),
	matchErrorType(ClassWorkspace, func(e *workspace.PrepareError) Details {
		return Details{Field: "workspace", ID: e.Checkout, Problem: e.Problem}
	}),
	matchErrorType(ClassTooDeep, func(*runtime.DelegationError) Details { return Details{} }),
	matchErrorType(ClassExists, func(e *service.ExistsError) Details { return Details{Kind: e.Kind, ID: e.ID} }),
	matchErrorType(ClassKeyConflict, func(e *service.KeyConflictError) Details { return Details{Key: e.Key, ID: event.ShownID(e.ID)} }),
	matchErrorType(ClassBusy, func(e *service.BusyError) Details {
		return Details{SessionID: event.ShownID(e.SessionID), TurnID: event.ShownID(e.TurnID)}
	}),
	matchErrorType(ClassWrongState, func(e *service.StateError) Details {
		return Details{Kind: e.Kind, ID: event.ShownID(e.ID), State: e.State, Want: e.Want}
	}),
	matchErrorType(ClassAnswered, func(e *service.ConflictError) Details { return Details{TurnID: event.ShownID(e.TurnID), ID: e.ID} }),
	matchErrorType(ClassLimit, func(*service.LimitError) Details { return Details{} }),
}

// matchErrorType returns a function that converts errors of one type.
func matchErrorType[E error](class Class, details func(E) Details) func(error) *Failure {
	return func(err error) *Failure {
		e, ok := errors.AsType[E](err)
		if !ok {
			return nil
		}
		return failureOf(class, e, details(e))
	}
}

// matchError returns a function that converts one sentinel error.
func matchError(class Class, is error, details Details) func(error) *Failure {
	return func(err error) *Failure {
		if !errors.Is(err, is) {
			return nil
		}
		return failureOf(class, is, details)
	}
}

func failureOf(class Class, told error, details Details) *Failure {
	o := outcomes[class]
	f := &Failure{Class: class, Status: o.status, Code: o.code, Retry: o.retry, Message: told.Error(), Details: details}
	if class == ClassTooLarge {
		f.Message, f.Details = details.Problem, Details{}
	}
	return f
}

// Report classifies an error and logs failures of the server. Mistakes of the caller, refusals and
// requests whose client has disconnected are not logged.
func Report(ctx context.Context, logger *zap.Logger, err error) *Failure {
	f := Classify(ctx, err)
	if f.Status >= http.StatusInternalServerError && ctx.Err() == nil && !errors.As(err, new(*Refusal)) {
		logger.Error("request failed", zap.String("request_id", RequestID(ctx)), zap.Error(err))
	}
	return f
}
