package sessions

import (
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
)

func newRefusal(status int, code, message string) *server.Refusal {
	return &server.Refusal{Status: status, Code: code, Message: message}
}

// badRequest returns an error for an invalid request.
func badRequest(format string, args ...any) *server.Refusal {
	return newRefusal(http.StatusBadRequest, "invalid_request", fmt.Sprintf(format, args...))
}

// notFound returns an error for a record that does not exist or belongs to another caller.
func notFound(kind, id string) *server.Refusal {
	return newRefusal(http.StatusNotFound, "not_found", fmt.Sprintf("%s %q not found", kind, clip.Text(id)))
}

// failedPrecondition returns an error for a request that this server is not configured for.
func failedPrecondition(format string, args ...any) *server.Refusal {
	return newRefusal(http.StatusPreconditionFailed, "failed_precondition", fmt.Sprintf(format, args...))
}

// errNoInteraction has the text that clients match.
var errNoInteraction = newRefusal(http.StatusNotFound, "not_found", "agent interaction not found")
