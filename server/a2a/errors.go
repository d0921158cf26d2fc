package a2aserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

var (
	errInternal     = a2a.NewError(a2a.ErrInternalError, "the server failed; its log says why")
	errNobody       = a2a.NewError(a2a.ErrUnauthenticated, "a credential is needed")
	errDraining     = a2a.NewError(a2a.ErrServerError, "the server is shutting down; ask again")
	errReadOnly     = a2a.NewError(a2a.ErrServerError, "the store takes no writes now; ask again")
	errNoStore      = a2a.NewError(a2a.ErrServerError, "the store cannot be reached; ask again")
	errNoParams     = a2a.NewError(a2a.ErrInvalidParams, "the request has no parameters")
	errNoTaskID     = a2a.NewError(a2a.ErrInvalidParams, "the id of the task is missing")
	errNotAvailable = a2a.NewError(a2a.ErrServerError, "the agent cannot be run now")
)

// invalid is the answer to a request that cannot be carried out as it is.
func invalid(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// unsupported is the answer to a request that the state of a task rules out.
func unsupported(format string, args ...any) error {
	return a2a.NewError(a2a.ErrUnsupportedOperation, fmt.Sprintf(format, args...))
}

// unknownTask is the answer for a task that does not exist, or is somebody
// else's: nobody can tell which.
func unknownTask(id a2a.TaskID) error {
	return a2a.NewError(a2a.ErrTaskNotFound, fmt.Sprintf("there is no task %q", clip.Text(string(id))))
}

// unknownAgent is the answer for an agent that does not exist, or that the
// principal may not use.
func unknownAgent(id string) error {
	return a2a.NewError(a2a.ErrTaskNotFound, fmt.Sprintf("there is no agent %q", clip.Text(id)))
}

// guard is deferred by each method of the handler: it turns a panic, and an
// error that callers are not to see, into one that they may.
func (s *Server) guard(ctx context.Context, method string, err *error) {
	if cause := recover(); cause != nil {
		s.Logger.Error("an A2A request panicked", zap.String("method", method), zap.Error(backend.Panicked(cause)), zap.Stack("stack"))
		*err = errInternal
		return
	}
	if *err != nil {
		*err = s.shown(ctx, method, *err)
	}
}

// shown returns an error as callers see it. What it does not know is logged and
// becomes an internal error: its text may say how things are inside.
func (s *Server) shown(ctx context.Context, method string, err error) error {
	var (
		protocol   *a2a.Error
		notFound   *runtime.NotFoundError
		invalidErr *runtime.InvalidError
		answer     *backend.ResolutionError
		conflict   *store.ConflictError
		state      *store.StateError
		part       *a2awire.PartError
		size       *a2awire.SizeError
		meta       *a2awire.MetadataError
		delegation *runtime.DelegationError
		mismatch   *backend.MismatchError
	)
	switch {
	case errors.As(err, &protocol):
		return protocol
	case errors.Is(context.Cause(ctx), server.ErrDraining):
		noteOutage(ctx)
		return errDraining
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &notFound):
		if notFound.Kind == "turn" {
			return unknownTask(a2a.TaskID(notFound.ID))
		}
		return invalid("there is no %s %q", named(notFound.Kind), clip.Text(notFound.ID))
	case errors.Is(err, store.ErrCursor):
		return invalid("pageToken is none that was given out")
	case errors.As(err, &invalidErr), errors.As(err, &answer), errors.As(err, &part), errors.As(err, &size), errors.As(err, &meta),
		errors.Is(err, runtime.ErrNoInput):
		return invalid("%s", err.Error())
	case errors.Is(err, store.ErrText):
		return invalid("%s", store.ErrText.Error())
	case errors.As(err, &conflict):
		return unsupported("the question has another answer already")
	case errors.As(err, &state):
		return unsupported("the %s is %s", named(state.Kind), state.State)
	case errors.As(err, &mismatch):
		return unsupported("%s", mismatch.Error())
	case errors.As(err, &delegation):
		return a2a.NewError(a2a.ErrUnsupportedOperation, "delegates may not be nested as deep as that")
	}
	s.Logger.Error("an A2A request failed", zap.String("method", method), zap.String("request_id", server.RequestID(ctx)), zap.Error(err))
	switch {
	case unresolvable(err):
		return errNotAvailable
	case errors.Is(err, store.ErrNotWritable):
		noteOutage(ctx)
		return errReadOnly
	case errors.Is(err, store.ErrUnavailable):
		noteOutage(ctx)
		return errNoStore
	default:
		return errInternal
	}
}

// named returns what the protocol calls a kind of record.
func named(kind string) string {
	switch kind {
	case "turn":
		return "task"
	case "session":
		return "context"
	default:
		return kind
	}
}

// unresolvable reports whether an error says that an agent does not resolve.
func unresolvable(err error) bool {
	var e *resolve.Error
	return errors.As(err, &e)
}
