package agentruns

import (
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// Codes of rejected requests, in addition to codes for specs.
const (
	codeUnauthorized   = "unauthorized"
	codeScope          = "insufficient_scope"
	codeNotFound       = "not_found"
	codeNotSupported   = "not_supported"
	codeUnknownToolUse = "unknown_tool_use"
	// codeUnknownInteraction means that the run never had the interaction, and codeAnswered that
	// it already has another answer.
	codeUnknownInteraction = "unknown_interaction"
	codeAnswered           = "answered"
	codeRunTerminal        = "run_terminal"
	codeSessionEnded       = "session_ended"
	codeKeyConflict        = "key_conflict"
	codeTooLarge           = "too_large"
	codeUnavailable        = "unavailable"
	codeInternal           = "internal"
	// codeWorkspace marks a path in another workspace. Clients receive codeNotFound.
	codeWorkspace = "wrong_workspace"
)

// statuses are the statuses of the codes.
var statuses = map[string]int{
	codeInvalidRequest: http.StatusBadRequest, codeInvalidModel: http.StatusBadRequest, codeInvalidPlugin: http.StatusBadRequest,
	codeForbidden: http.StatusForbidden, codeNotFound: http.StatusNotFound, codeWorkspace: http.StatusNotFound,
	codeUnknownToolUse: http.StatusNotFound, codeRunTerminal: http.StatusConflict,
	codeUnknownInteraction: http.StatusNotFound, codeAnswered: http.StatusConflict, codeSessionEnded: http.StatusConflict,
	codeNotSupported: http.StatusNotImplemented,
	codeKeyConflict:  http.StatusUnprocessableEntity,
	codeTooLarge:     http.StatusRequestEntityTooLarge, codeUnavailable: http.StatusServiceUnavailable, codeInternal: http.StatusInternalServerError,
}

// errorBody is the body of a refusal. Some clients treat Error as the code and Message as the text,
// others Error as the text and Code as the code. The SDKs show Error, Code and Hint and drop
// Message, so Hint repeats the reason.
type errorBody struct {
	Error      string   `json:"error" jsonschema:"The code again, or a sentence if the credential or the workspace is wrong."`
	Code       string   `json:"code" jsonschema:"The error code for programs." enum:"unauthorized,forbidden,insufficient_scope,not_found,invalid_request,invalid_model,invalid_plugin,unknown_tool_use,unknown_interaction,answered,run_terminal,session_ended,key_conflict,not_supported,too_large,rate_limited,internal,unavailable"`
	Message    string   `json:"message,omitempty" jsonschema:"The message for people."`
	Hint       string   `json:"hint" minLength:"1" jsonschema:"The reason again, for clients that do not show message, followed by advice if there is any. For a wrong workspace, the right one."`
	Candidates []string `json:"candidates,omitempty" jsonschema:"Likely intended values."`
	Required   string   `json:"required,omitempty" jsonschema:"The scope that the credential lacks."`
}

// requestError explains why a request creates no run.
type requestError struct {
	// Code is one of the codes above.
	Code string
	// Message is a sentence for people, without secrets.
	Message string
	// Hint is the remedy; it may be empty.
	Hint string
	// Candidates are suggestions of the intended value.
	Candidates []string
}

// The codes of a request that is rejected before a run exists.
const (
	codeInvalidRequest = "invalid_request"
	codeInvalidModel   = "invalid_model"
	codeInvalidPlugin  = "invalid_plugin"
	codeForbidden      = "forbidden"
)

// noAgent is the error for an agent that does not exist or that the credential may not use.
func noAgent(id string) *requestError {
	return &requestError{Code: codeForbidden, Message: fmt.Sprintf("agent %q is not available with this credential", clip.Text(id))}
}

// Error returns the message.
func (e *requestError) Error() string { return e.Message }

func newInvalid(format string, args ...any) error {
	return &requestError{Code: codeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}
