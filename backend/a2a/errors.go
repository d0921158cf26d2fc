package a2a

import (
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
)

// The errors of turns at peers. A turn fails with a *PeerError, which wraps one of
// the others where there is more to know.
type (
	// PeerError says why a turn at a peer failed.
	PeerError = client.PeerError
	// HTTPError says that a peer answered a request with a status that is no
	// success.
	HTTPError = client.HTTPError
	// IdleError says that a peer sent nothing for too long.
	IdleError = client.IdleError
	// TooLargeError says that an event or an answer of a peer is larger than it may
	// be.
	TooLargeError = client.TooLargeError
	// ContentTypeError says that a peer answered with something that the protocol
	// does not know.
	ContentTypeError = client.ContentTypeError
	// CardError says that a peer has an agent card that cannot be used.
	CardError = client.CardError
	// SignatureError says that no signature of a card is right.
	SignatureError = client.SignatureError
)

var _ backend.Terminator = (*PeerError)(nil)

// ErrUnsigned says that a card has no signature where one is required.
var ErrUnsigned = client.ErrUnsigned

// The codes of turns that failed at a peer, besides timeout, unauthorized and
// rate_limited, which mean what they mean for models.
const (
	// CodeRemoteFailed is a task that the peer says has failed.
	CodeRemoteFailed = client.CodeRemoteFailed
	// CodeRemoteRejected is a task that the peer did not take on.
	CodeRemoteRejected = client.CodeRemoteRejected
	// CodeUnreachable is a peer that gave no answer.
	CodeUnreachable = client.CodeUnreachable
	// CodeRefused is a peer that answered with an error.
	CodeRefused = client.CodeRefused
	// CodeProtocol is a peer that does what the protocol does not allow.
	CodeProtocol = client.CodeProtocol
	// CodeTooLarge is a peer that sent more than is taken in.
	CodeTooLarge = client.CodeTooLarge
	// CodeTaskLost is a task that the peer does not know any more.
	CodeTaskLost = client.CodeTaskLost
	// CodeCard is a peer whose agent card cannot be used.
	CodeCard = client.CodeCard
	// CodeDepth is a peer that was not asked because its agent could delegate
	// deeper than turns may be nested.
	CodeDepth = client.CodeDepth
)
