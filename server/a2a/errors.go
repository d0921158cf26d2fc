package a2a

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
)

var (
	errInternal     = a2a.NewError(a2a.ErrInternalError, "internal error; see the server log")
	errNobody       = a2a.NewError(a2a.ErrUnauthenticated, "a credential is needed")
	errDraining     = a2a.NewError(a2a.ErrServerError, "the server is shutting down; ask again")
	errReadOnly     = a2a.NewError(a2a.ErrServerError, "the store takes no writes now; ask again")
	errNoStore      = a2a.NewError(a2a.ErrServerError, "the store cannot be reached; ask again")
	errNoParams     = a2a.NewError(a2a.ErrInvalidParams, "the request has no parameters")
	errNoTaskID     = a2a.NewError(a2a.ErrInvalidParams, "the id of the task is missing")
	errNotAvailable = a2a.NewError(a2a.ErrServerError, "the agent cannot be run now")
)

// newInvalidParams is the answer to a request that cannot be carried out as it is.
func newInvalidParams(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// newUnsupported is the answer to a request that the state of a task rules out.
func newUnsupported(format string, args ...any) error {
	return a2a.NewError(a2a.ErrUnsupportedOperation, fmt.Sprintf(format, args...))
}

// unknownTask is the answer for a task that does not exist or belongs to another
// caller: the two must look alike.
func unknownTask(id a2a.TaskID) error {
	return a2a.NewError(a2a.ErrTaskNotFound, fmt.Sprintf("there is no task %q", clip.Text(string(id))))
}

// unknownAgent is the answer for an agent that does not exist, or that the
// principal may not use.
func unknownAgent(id string) error {
	return a2a.NewError(a2a.ErrTaskNotFound, fmt.Sprintf("there is no agent %q", clip.Text(id)))
}

// guardMethod is deferred by each method of the handler: it turns a panic, and an
// error that callers are not to see, into one that they may.
func (s *Server) guardMethod(ctx context.Context, method string, err *error) {
	s.endMethod(ctx, method, panics.Caught(recover()), err)
}

// endMethod is guardMethod for a function that recovers by itself; p is nil if there was no
// panic.
func (s *Server) endMethod(ctx context.Context, method string, p *panics.Error, err *error) {
	if p != nil {
		s.settings.Logger.Error("an A2A request panicked", zap.String("method", method), zap.Error(p), zap.ByteString("stack", p.Stack))
		*err = errInternal
		return
	}
	if *err != nil {
		*err = s.toProtocolError(ctx, method, *err)
	}
}

// toProtocolError returns an error as callers see it. An error that it does not know is
// logged and becomes an internal error, because its text may reveal internals.
func (s *Server) toProtocolError(ctx context.Context, method string, err error) error {
	if known := protocolError(err); known != nil {
		return known
	}
	f := server.Classify(ctx, err)
	f.Log(ctx, s.settings.Logger.With(zap.String("method", method)), err)
	if f.Retry {
		noteOutage(ctx)
	}
	if f.Class == server.ClassGone {
		return ctx.Err()
	}
	if known, ok := fixedErrors[f.Class]; ok {
		return known
	}
	return errorForFailure(f)
}

// fixedErrors are the errors of the protocol for failures that are always told alike.
var fixedErrors = map[server.Class]error{
	server.ClassInternal:     errInternal,
	server.ClassUnresolvable: errNotAvailable,
	server.ClassDraining:     errDraining,
	server.ClassReadOnly:     errReadOnly,
	server.ClassStoreDown:    errNoStore,
	server.ClassCursor:       newInvalidParams("pageToken is none that was given out"),
	server.ClassAnswered:     newUnsupported("the question has another answer already"),
	server.ClassTooDeep:      newUnsupported("delegates may not be nested as deep as that"),
}

// errorForFailure returns the error of the protocol for a failure of a request that cannot be
// carried out.
func errorForFailure(f *server.Failure) error {
	d := &f.Details
	switch f.Class {
	case server.ClassNotFound:
		if d.Kind == "turn" {
			return unknownTask(a2a.TaskID(d.ID))
		}
		return newInvalidParams("there is no %s %q", protocolNoun(d.Kind), clip.Text(d.ID))
	case server.ClassNoAgent:
		return unknownAgent(d.ID)
	case server.ClassWrongState:
		return newUnsupported("the %s is %s", protocolNoun(d.Kind), d.State)
	case server.ClassMismatch, server.ClassBusy, server.ClassLimit:
		return newUnsupported("%s", f.Message)
	default:
		return newInvalidParams("%s", f.Message)
	}
}

// protocolError returns an error that the protocol knows itself; nil for others.
func protocolError(err error) error {
	if known, ok := errors.AsType[*a2a.Error](err); ok {
		return known
	}
	if errors.As(err, new(*a2awire.PartError)) || errors.As(err, new(*a2awire.SizeError)) || errors.As(err, new(*a2awire.MetadataError)) {
		return newInvalidParams("%s", err.Error())
	}
	return nil
}

// protocolNoun returns what the protocol calls a kind of record.
func protocolNoun(kind string) string {
	switch kind {
	case "turn":
		return "task"
	case "session":
		return "context"
	default:
		return kind
	}
}
