package agents

import (
	"errors"
	"io"
	"net/http"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/server"
)

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
