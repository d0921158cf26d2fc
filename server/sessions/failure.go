package sessions

import (
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/toolgrant"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// WriteError answers with an error of the router.
func (*Surface) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	surfacekit.WriteGestaltError(w, e)
}

// WriteFailure answers with an error of a handler.
func (s *Surface) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	f := server.Report(r.Context(), s.settings.Logger, err)
	if f.Class == server.ClassUnresolvable {
		f.Status, f.Code, f.Message = http.StatusServiceUnavailable, "unavailable", "the agent of the provider cannot be run now"
	}
	surfacekit.WriteGestaltFailure(w, r, f)
}

// nameError converts a not-found error to one with the kind and id of the path.
func nameError(err error, kind, id string) error {
	if errors.Is(err, service.ErrNotFound) {
		return notFound(kind, id)
	}
	return err
}

// answerError returns the rejection of an answer in the caller's form.
func answerError(err error) error {
	var wrong *interaction.AnswerError
	switch {
	case errors.As(err, &wrong) && !wrong.Conflict:
		return badRequest("the resolution cannot be used: %s", wrong.Problem)
	case errors.As(err, &wrong), errors.As(err, new(*service.ConflictError)):
		return newRefusal(http.StatusConflict, "already_resolved", "the interaction was resolved in another way")
	case errors.Is(err, service.ErrNotFound):
		return errNoInteraction
	default:
		return err
	}
}

// toolError returns the rejection of tools in the caller's form.
func toolError(err error) error {
	refused, ok := errors.AsType[*toolgrant.RefusedError](err)
	if !ok {
		return err
	}
	switch refused.Kind {
	case toolgrant.Missing:
		return newRefusal(http.StatusNotFound, "not_found", refused.Message)
	case toolgrant.Unsupported:
		return failedPrecondition("%s", refused.Message)
	default:
		return badRequest("%s", refused.Message)
	}
}
