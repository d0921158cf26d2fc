package agents

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// newError returns an error whose text clients may see.
func newError(status wire.Status, format string, args ...any) *wire.Error {
	return &wire.Error{Status: status, Message: fmt.Sprintf(format, args...)}
}

// notFound returns the error for a record that does not exist or that the caller may
// not see.
func notFound(kind, id string) *wire.Error {
	return newError(wire.StatusNotFound, "%s %q not found", kind, clip.Text(id))
}

// nameError returns an error of the service, with the name that the request used for
// a missing record.
func nameError(err error, kind, id string) error {
	if errors.Is(err, service.ErrNotFound) {
		return notFound(kind, id)
	}
	return err
}

// WriteError answers with an error of the router.
func (*Surface) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	writeText(w, e.Status, e.Message)
}

// WriteFailure answers with an error of a handler. The reply is plain text, also if the
// request asked for a stream.
func (s *Surface) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		writeText(w, refused.Status.HTTP(), refused.Message)
		return
	}
	f := server.Classify(r.Context(), err)
	f.Log(r.Context(), s.settings.Logger, err)
	if f.Retry {
		w.Header().Set("Retry-After", "1")
	}
	writeText(w, f.Status, f.Message)
}

func writeText(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that is gone needs no answer
}

// turnError returns the error of a turn: its code, without the text of the failure,
// which may have internals.
func turnError(why *event.Termination) *wire.Error {
	status := wire.StatusInternal
	switch model.ErrorClass(why.Code) {
	case model.RateLimited:
		status = wire.StatusResourceExhausted
	case model.Overloaded:
		status = wire.StatusUnavailable
	case model.Timeout:
		status = wire.StatusDeadlineExceeded
	}
	return &wire.Error{Status: status, Message: "the turn failed: " + cmp.Or(why.Code, status.Label())}
}
