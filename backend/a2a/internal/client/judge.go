package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/model"
)

// Codes of turns that failed at a peer, in addition to timeout, unauthorized and rate_limited,
// which mean the same as for models.
const (
	// CodeRemoteFailed means that the peer reported the task as failed.
	CodeRemoteFailed = "remote_failed"
	// CodeRemoteRejected means that the peer rejected the task.
	CodeRemoteRejected = "remote_rejected"
	// CodeUnreachable means that the peer did not answer.
	CodeUnreachable = "peer_unreachable"
	// CodeRefused means that the peer answered with an error.
	CodeRefused = "peer_refused"
	// CodeProtocol means that the peer violated the protocol.
	CodeProtocol = "peer_protocol"
	// CodeTooLarge means that the peer sent more than is accepted.
	CodeTooLarge = "too_large"
	// CodeTaskLost means that the peer no longer knows the task.
	CodeTaskLost = "task_lost"
	// CodeCard means that the peer's agent card cannot be used.
	CodeCard = "peer_card"
	// CodeDepth means that the peer was not called because its agent could delegate deeper than
	// turns may be nested.
	CodeDepth = "delegation_depth"

	CodeTimeout      = string(model.Timeout)
	CodeUnauthorized = string(model.Unauthorized)
	CodeRateLimited  = string(model.RateLimited)
)

// PeerError reports why a turn at a peer failed.
type PeerError struct {
	// Peer is the base URL of the peer.
	Peer string
	// Code is the code of the turn's termination.
	Code string
	// Task is the task at the peer; empty if absent so far.
	Task string
	// Detail holds further details, if any: cleaned, truncated and without credentials.
	Detail string
	// Err is the error of the SDK or transport; nil if the response was well-formed.
	Err error
}

// Error names the peer, the task and what happened.
func (e *PeerError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "peer %s: ", e.Peer)
	if e.Task != "" {
		fmt.Fprintf(&b, "task %q: ", clip.Text(e.Task))
	}
	b.WriteString(strings.ReplaceAll(e.Code, "_", " "))
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Unwrap returns the error of the SDK or transport.
func (e *PeerError) Unwrap() error { return e.Err }

// Termination returns how the turn ends.
func (e *PeerError) Termination() event.Termination {
	return event.Termination{Type: event.Failed, Code: e.Code, Detail: e.Error()}
}

// Fail returns the error of a turn at the peer.
func (p *Peer) Fail(code string, task a2a.TaskID, detail string, err error) *PeerError {
	return &PeerError{Peer: p.Endpoint.BaseURL, Code: code, Task: string(task), Detail: strings.TrimSpace(p.Shown(detail, MaxShown)), Err: err}
}

// Trouble classifies the error of a call by what can be done about it.
type Trouble int

const (
	// Passing errors may not recur on the next attempt.
	Passing Trouble = iota
	// Unsupported means that the peer does not offer the call.
	Unsupported
	// lost means that the peer does not know the task.
	lost
	// Outdated means that the peer differs from its card, or no longer accepts a credential. The
	// next call may use a new one.
	Outdated
	// Final trouble stays.
	Final
)

// Judgement classifies the error of a call.
type Judgement struct {
	Trouble Trouble
	// Code is the code of a turn that fails with the error.
	Code string
}

// byProtocol are the judgements of the errors of the protocol.
var byProtocol = []struct {
	err error
	Judgement
}{
	{a2a.ErrTaskNotFound, Judgement{lost, CodeTaskLost}},
	{a2a.ErrUnsupportedOperation, Judgement{Unsupported, CodeRefused}},
	{a2a.ErrMethodNotFound, Judgement{Unsupported, CodeRefused}},
	{a2a.ErrVersionNotSupported, Judgement{Outdated, CodeRefused}},
	{a2a.ErrUnauthenticated, Judgement{Final, CodeUnauthorized}},
	{a2a.ErrUnauthorized, Judgement{Final, CodeUnauthorized}},
	{a2a.ErrInternalError, Judgement{Passing, CodeRefused}},
	{a2a.ErrServerError, Judgement{Passing, CodeRefused}},
	// Over gRPC: the peer or the network ended the call.
	{context.Canceled, Judgement{Passing, CodeUnreachable}},
	{context.DeadlineExceeded, Judgement{Passing, CodeUnreachable}},
}

// Judge classifies the error of a call.
func Judge(err error) Judgement {
	status, answered := errors.AsType[*HTTPError](err)
	if answered && status.renewed {
		return Judgement{Outdated, CodeUnauthorized}
	}
	for _, known := range byProtocol {
		if errors.Is(err, known.err) {
			return known.Judgement
		}
	}
	if answered {
		return JudgeStatus(status.Status)
	}
	switch {
	case errors.As(err, new(*TooLargeError)), errors.Is(err, bufio.ErrTooLong):
		return Judgement{Final, CodeTooLarge}
	case errors.As(err, new(*netguard.BlockedError)):
		return Judgement{Final, CodeUnreachable}
	case errors.As(err, new(*CardError)), errors.As(err, new(*SignatureError)):
		return Judgement{Passing, CodeCard} // the next one may be better
	case errors.As(err, new(*a2a.Error)):
		return Judgement{Final, CodeRefused}
	case errors.As(err, new(*ContentTypeError)): // it answered, but not as the HTTP client expects
		return Judgement{Passing, CodeProtocol}
	case errors.As(err, new(net.Error)), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // before it answered
		return Judgement{Passing, CodeUnreachable}
	default: // an unintelligible response
		return Judgement{Passing, CodeProtocol}
	}
}

// JudgeStatus classifies an error status.
func JudgeStatus(status int) Judgement {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return Judgement{Final, CodeUnauthorized}
	case http.StatusTooManyRequests:
		return Judgement{Passing, CodeRateLimited}
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return Judgement{Passing, CodeUnreachable}
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return Judgement{Unsupported, CodeRefused}
	case http.StatusNotFound, http.StatusGone:
		return Judgement{Outdated, CodeRefused}
	}
	if status >= http.StatusInternalServerError {
		return Judgement{Passing, CodeUnreachable}
	}
	return Judgement{Final, CodeRefused}
}

// RetryAfter returns how long a peer asks to wait; 0 if unknown.
func RetryAfter(err error) time.Duration {
	if status, ok := errors.AsType[*HTTPError](err); ok {
		return status.RetryAfter
	}
	return 0
}

// MayResend reports whether a message may be sent again after err if no task is known: the peer did
// not get it, was too busy, or disconnected before it answered. The message keeps its id, by which
// the peer recognizes it. It must not be sent again if the peer reported a failure or may still be
// working on it, as behind a proxy that timed out.
func MayResend(err error) bool {
	if err == nil { // the response ended before any data
		return true
	}
	if status, ok := errors.AsType[*HTTPError](err); ok {
		return slices.Contains([]int{
			http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		}, status.Status)
	}
	if errors.As(err, new(*IdleError)) { // it may be at work
		return false
	}
	return Judge(err) == Judgement{Passing, CodeUnreachable}
}

// FailedInside reports whether a peer reported an internal error. The answer to its question may
// then be sent again while it still asks.
func FailedInside(err error) bool {
	status, ok := errors.AsType[*HTTPError](err)
	return ok && status.Status == http.StatusInternalServerError
}
