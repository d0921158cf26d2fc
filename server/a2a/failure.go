package a2a

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
)

// guardMethod is deferred by each method of the handler: it replaces panics and internal errors
// by errors for callers.
func (s *Server) guardMethod(ctx context.Context, method string, err *error) {
	s.endMethod(ctx, method, panics.Caught(recover()), err)
}

// endMethod is guardMethod for a function that recovers from panics itself; p is nil if there was
// no panic.
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

// toProtocolError converts an error for callers. An unknown error is logged and becomes an internal
// error, because its text may reveal internals.
func (s *Server) toProtocolError(ctx context.Context, method string, err error) error {
	if known := protocolError(err); known != nil {
		return known
	}
	f := server.Report(ctx, s.settings.Logger.With(zap.String("method", method)), err)
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

// errorForFailure returns the protocol error for a request that failed.
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
	case server.ClassSessionStart:
		return a2a.NewError(a2a.ErrInternalError, f.Message)
	case server.ClassWrongState:
		return newUnsupported("the %s is %s", protocolNoun(d.Kind), d.State)
	case server.ClassMismatch, server.ClassBusy, server.ClassLimit:
		return newUnsupported("%s", f.Message)
	default:
		return newInvalidParams("%s", f.Message)
	}
}

// protocolError returns an error that the protocol defines; nil for others.
func protocolError(err error) error {
	if known, ok := errors.AsType[*a2a.Error](err); ok {
		return known
	}
	if errors.As(err, new(*a2awire.PartError)) || errors.As(err, new(*a2awire.SizeError)) || errors.As(err, new(*a2awire.MetadataError)) {
		return newInvalidParams("%s", err.Error())
	}
	return nil
}

// protocolNoun returns the protocol's name for a kind of record.
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
