package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
)

// Error is an error response of a server. It wraps the error of the server's service, if it
// represents one.
type Error struct {
	// Method and URL belong to the request, without its query.
	Method, URL string
	// Status is the HTTP status.
	Status int
	// Code is for programs, and Message a sentence for people. Code is empty if the response is not
	// from a runtime server.
	Code, Message string
	// RequestID identifies the request in the server's log.
	RequestID string
	// Details are the fields of the error.
	Details server.Details

	cause      error
	retryAfter time.Duration
}

// Error returns the message of the service, or else the request and the status of its
// answer.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message
	}
	text := fmt.Sprintf("%s %s: %d", e.Method, e.URL, e.Status)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Unwrap returns the error of the service.
func (e *Error) Unwrap() error { return e.cause }

// brokenError is a missing or incomplete response.
type brokenError struct {
	method, url string
	err         error
}

// Error returns the request and the reason it has no response.
func (e *brokenError) Error() string { return fmt.Sprintf("%s %s: %v", e.method, e.url, e.err) }

// Unwrap returns why.
func (e *brokenError) Unwrap() error { return e.err }

// describeStranger describes a response that is not from a runtime server. It quotes plain text,
// which may say that the server uses TLS.
func describeStranger(mediaType string, data []byte) string {
	const text = "the response is not from a runtime server: is the URL right?"
	says := strings.TrimSpace(string(data))
	if says == "" || mediaType != "" && mediaType != "text/plain" {
		return text
	}
	return fmt.Sprintf("%s It says %q", text, clip.Text(says))
}

// maxMessage limits a server's message, in bytes.
const maxMessage = 4 << 10

// decodeError reads the body of an error. Invalid parts are left out.
func decodeError(data []byte, e *Error) {
	var body struct {
		Error struct {
			Code      string         `json:"code"`
			Message   string         `json:"message"`
			RequestID string         `json:"request_id"`
			Details   server.Details `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &body) != nil || body.Error.Code == "" {
		return
	}
	e.Code, e.RequestID = clip.Text(body.Error.Code), clip.Text(body.Error.RequestID)
	e.Message = clip.At(maxMessage, body.Error.Message)
	e.Details = body.Error.Details
	if e.Message != "" {
		e.cause = causeOf(body.Error.Code, &body.Error.Details)
	}
}

// retryAfter returns the delay that the server requests before a retry.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// isTemporary reports whether a request may succeed on a retry.
func isTemporary(err error) bool {
	if errors.As(err, new(*brokenError)) {
		return true
	}
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.cause != nil {
		return false
	}
	switch refused.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}
