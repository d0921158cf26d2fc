package runsclient

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Error is a rejection as understood by the SDK.
type Error struct {
	Status int
	// Message is the text shown by the SDK, Code the machine-readable reason.
	Message, Code, Hint string
	// Body holds the complete body of the rejection.
	Body   map[string]any
	Header http.Header
}

// Error describes the rejection.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// refusalError decodes a rejection. All SDKs show "error", not "message". They take the code from
// "code"; without it Python uses "error".
func (c *Client) refusalError(resp *Response) error {
	e := &Error{Status: resp.Status, Code: fmt.Sprintf("http_%d", resp.Status), Header: resp.Header}
	e.Message = fmt.Sprintf("HTTP %d", resp.Status)
	if json.Unmarshal(resp.Body, &e.Body) != nil {
		return e
	}
	if text, ok := e.Body["error"].(string); ok {
		e.Message = text
		if c.o.SDK == Python {
			e.Code = text
		}
	}
	if code, ok := e.Body["code"].(string); ok {
		e.Code = code
	}
	e.Hint, _ = e.Body["hint"].(string)
	return e
}

// RunError reports a run that did not succeed.
type RunError struct {
	RunID string
	// Subtype is the subtype of the result, the class of the error, or "cancelled".
	Subtype, Message string
	// Event is the event that ended the run.
	Event Event
}

// Error describes how the run ended.
func (e *RunError) Error() string {
	return fmt.Sprintf("run %s: %s: %s", e.RunID, e.Subtype, e.Message)
}

// ProtocolError reports data that a server must not send.
type ProtocolError struct {
	Problem string
	// Frame is the offending frame.
	Frame string
}

// Error describes the problem and its location.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("%s: %.300s", e.Problem, e.Frame)
}
