package a2a

import (
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
)

// The errors of turns at peers. A turn fails with a *PeerError, which may wrap one of the others.
type (
	// PeerError reports why a turn at a peer failed.
	PeerError = client.PeerError
	// HTTPError reports that a peer answered a request with an error status.
	HTTPError = client.HTTPError
	// IdleError reports that a peer sent nothing for too long.
	IdleError = client.IdleError
	// TooLargeError reports that an event or an answer of a peer exceeds its limit.
	TooLargeError = client.TooLargeError
	// ContentTypeError reports that a peer answered with a content type that the protocol does not
	// define.
	ContentTypeError = client.ContentTypeError
	// CardError reports an agent card that cannot be used.
	CardError = client.CardError
	// SignatureError reports that no signature of a card is valid.
	SignatureError = client.SignatureError
)

var _ backend.Terminator = (*PeerError)(nil)

// ErrUnsigned reports that a card lacks a required signature.
var ErrUnsigned = client.ErrUnsigned

// Codes of turns that failed at a peer, in addition to timeout, unauthorized and rate_limited,
// which mean the same as for models.
const (
	// CodeRemoteFailed means that the peer reported the task as failed.
	CodeRemoteFailed = client.CodeRemoteFailed
	// CodeRemoteRejected means that the peer rejected the task.
	CodeRemoteRejected = client.CodeRemoteRejected
	// CodeUnreachable means that the peer did not answer.
	CodeUnreachable = client.CodeUnreachable
	// CodeRefused means that the peer answered with an error.
	CodeRefused = client.CodeRefused
	// CodeProtocol means that the peer violated the protocol.
	CodeProtocol = client.CodeProtocol
	// CodeTooLarge means that the peer sent more than is accepted.
	CodeTooLarge = client.CodeTooLarge
	// CodeTaskLost means that the peer no longer knows the task.
	CodeTaskLost = client.CodeTaskLost
	// CodeCard means that the peer's agent card cannot be used.
	CodeCard = client.CodeCard
	// CodeDepth means that the peer was not called because its agent could delegate deeper than
	// turns may be nested.
	CodeDepth = client.CodeDepth
)
