package agentruns

import (
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// The codes of requests that are refused, besides those of specs.
const (
	codeUnauthorized   = "unauthorized"
	codeScope          = "insufficient_scope"
	codeNotFound       = "not_found"
	codeUnknownToolUse = "unknown_tool_use"
	// codeUnknownInteraction stands for what a run does not wait for, nor did, and
	// codeAnswered for what has another answer.
	codeUnknownInteraction = "unknown_interaction"
	codeAnswered           = "answered"
	codeRunTerminal        = "run_terminal"
	codeSessionEnded       = "session_ended"
	codeKeyConflict        = "key_conflict"
	codeTooLarge           = "too_large"
	codeUnavailable        = "unavailable"
	codeInternal           = "internal"
	// codeWorkspace stands for a path of another workspace. Clients read
	// codeNotFound.
	codeWorkspace = "wrong_workspace"
)

// statuses are the statuses of the codes.
var statuses = map[string]int{
	codeInvalidRequest: http.StatusBadRequest, codeInvalidModel: http.StatusBadRequest, codeInvalidPlugin: http.StatusBadRequest,
	codeForbidden: http.StatusForbidden, codeNotFound: http.StatusNotFound, codeWorkspace: http.StatusNotFound,
	codeUnknownToolUse: http.StatusNotFound, codeRunTerminal: http.StatusConflict,
	codeUnknownInteraction: http.StatusNotFound, codeAnswered: http.StatusConflict, codeSessionEnded: http.StatusConflict,
	codeKeyConflict: http.StatusUnprocessableEntity,
	codeTooLarge:    http.StatusRequestEntityTooLarge, codeUnavailable: http.StatusServiceUnavailable, codeInternal: http.StatusInternalServerError,
}

// errorBody is the body of a refusal. Some clients take Error for the code and
// Message for the text, others Error for the text and Code for the code. The SDKs
// show Error, Code and Hint and drop Message, so Hint repeats the reason.
type errorBody struct {
	Error      string   `json:"error"`
	Code       string   `json:"code"`
	Message    string   `json:"message,omitempty"`
	Hint       string   `json:"hint"`
	Candidates []string `json:"candidates,omitempty"`
	Required   string   `json:"required,omitempty"`
}

// requestError says why there is no run for a request.
type requestError struct {
	// Code is one of the codes above.
	Code string
	// Message is a sentence for people, which repeats no secrets.
	Message string
	// Hint is the remedy; it may be empty.
	Hint string
	// Candidates are what the request may have meant.
	Candidates []string
}

// The codes of a request that is refused before there is a run.
const (
	codeInvalidRequest = "invalid_request"
	codeInvalidModel   = "invalid_model"
	codeInvalidPlugin  = "invalid_plugin"
	codeForbidden      = "forbidden"
)

// noAgent is the error for an agent that the credential may not use, and for one
// that there is not.
func noAgent(id string) *requestError {
	return &requestError{Code: codeForbidden, Message: fmt.Sprintf("agent %q is not available with this credential", clip.Text(id))}
}

// Error returns the message.
func (e *requestError) Error() string { return e.Message }

func newInvalid(format string, args ...any) error {
	return &requestError{Code: codeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}
