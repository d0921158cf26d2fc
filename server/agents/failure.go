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
	writeError(w, e.Status, wire.StatusOfHTTP(e.Status), e.Message)
}

// WriteFailure answers with an error of a handler. The reply is plain text, even if the
// client requested a stream.
func (s *Surface) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		writeError(w, refused.Status.HTTP(), refused.Status, refused.Message)
		return
	}
	f := server.Report(r.Context(), s.settings.Logger, err)
	if f.Retry {
		w.Header().Set("Retry-After", "1")
	}
	writeError(w, f.Status, wire.StatusOfHTTP(f.Status), f.Message)
}

// writeError responds with an error as text. The text begins with the status name: API clients show
// it, and the names are more precise than HTTP status codes.
func writeError(w http.ResponseWriter, code int, status wire.Status, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, string(status)+": "+text+"\n") // a client that is gone needs no answer
}
