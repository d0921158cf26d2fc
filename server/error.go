package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/store"
)

// Unavailable returns why a request failed that may do better later: the server
// ends, or the store cannot be reached or takes no writes. It is nil for what failed
// otherwise. ctx is that of the request, and err what it came to. The answer has the
// status 503 and a Retry-After.
func Unavailable(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), ErrDraining):
		return ErrDraining
	case errors.Is(err, store.ErrNotWritable):
		return store.ErrNotWritable
	case errors.Is(err, store.ErrUnavailable):
		return store.ErrUnavailable
	default:
		return nil
	}
}

// refuse answers a request in place of its handler.
func refuse(w http.ResponseWriter, r *http.Request, writer ErrorWriter, e *Error) {
	e.RequestID = RequestID(r.Context())
	w.Header().Set("Cache-Control", "no-store")
	if writer != nil {
		writer.WriteError(w, r, e)
		return
	}
	WriteError(w, e)
}

// WriteError writes an error in the shape that a server's own errors have:
// {"error":{"code","message","request_id","details"}}, without the details where
// there are none.
func WriteError(w http.ResponseWriter, e *Error) {
	type shown struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
		Details   any    `json:"details,omitempty"`
	}
	if err := WriteJSON(w, e.Status, map[string]shown{"error": {e.Code, e.Message, e.RequestID, e.Details}}); err != nil {
		w.WriteHeader(e.Status) // not reached: these are texts, and details that a surface can encode
	}
}
