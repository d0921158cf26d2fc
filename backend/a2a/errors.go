package a2a

import (
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
)

// The errors of turns at peers. A turn fails with a *PeerError, which wraps one of
// the others where there is more to know.
type (
	// PeerError reports why a turn at a peer failed.
	PeerError = client.PeerError
	// HTTPError reports that a peer answered a request with an error status.
	HTTPError = client.HTTPError
	// IdleError reports that a peer sent nothing for too long.
	IdleError = client.IdleError
	// TooLargeError reports that an event or an answer of a peer exceeds its limit.
	TooLargeError = client.TooLargeError
	// ContentTypeError reports that a peer answered with a content type that the
	// protocol does not have.
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
	// CodeRemoteFailed is a task that the peer says has failed.
	CodeRemoteFailed = client.CodeRemoteFailed
	// CodeRemoteRejected is a task that the peer did not take on.
	CodeRemoteRejected = client.CodeRemoteRejected
	// CodeUnreachable is a peer that gave no answer.
	CodeUnreachable = client.CodeUnreachable
	// CodeRefused is a peer that answered with an error.
	CodeRefused = client.CodeRefused
	// CodeProtocol means that the peer violated the protocol.
	CodeProtocol = client.CodeProtocol
	// CodeTooLarge is a peer that sent more than is accepted.
	CodeTooLarge = client.CodeTooLarge
	// CodeTaskLost is a task that the peer does not know any more.
	CodeTaskLost = client.CodeTaskLost
	// CodeCard is a peer whose agent card cannot be used.
	CodeCard = client.CodeCard
	// CodeDepth is a peer that was not asked because its agent could delegate
	// deeper than turns may be nested.
	CodeDepth = client.CodeDepth
)
