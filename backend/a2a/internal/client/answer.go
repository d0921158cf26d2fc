package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The content types of the protocol.
const (
	TypeJSON   = "application/json"
	typeA2A    = "application/a2a+json"
	TypeEvents = "text/event-stream"
	TypePlain  = "text/plain"
)

// judgeAnswer converts a response to the form that the SDK understands, or returns why it cannot be
// used.
func judgeAnswer(req *http.Request, resp *http.Response, bounds limits, secrets []string) error {
	switch resp.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted:
		resp.StatusCode = http.StatusOK // the SDK knows no other
	default:
		return hiddenError(resp, secrets)
	}
	kind := MediaType(resp)
	switch {
	case kind == TypeEvents && wantsStream(req):
		resp.Body = &events{ReadCloser: resp.Body, limit: bounds.event}
		return nil
	case kind == TypeEvents || !IsJSON(kind) && kind != "" && kind != TypePlain:
		return &ContentTypeError{ContentType: CleanText(resp.Header.Get("Content-Type"), MaxShown)}
	case wantsStream(req):
		return reframeAnswer(resp, bounds.event)
	}
	resp.Header.Set("Content-Type", TypeJSON)
	resp.Body = Bound(resp.Body, "an answer", bounds.answer)
	return nil
}

// MediaType returns the type of an answer's content without its parameters.
func MediaType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil && kind == "" {
		return strings.TrimSpace(strings.ToLower(resp.Header.Get("Content-Type")))
	}
	return kind
}

// IsJSON reports whether a content type is JSON.
func IsJSON(kind string) bool {
	return kind == TypeJSON || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}

// reframeAnswer turns a single JSON value, which peers send instead of a stream for an error, into
// a stream of one event.
func reframeAnswer(resp *http.Response, limit int64) error {
	data, err := ReadAll(resp.Body, "an event", limit)
	if err != nil {
		return err
	}
	framed, err := frameEvent(data)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	resp.Header.Set("Content-Type", TypeEvents)
	resp.Header.Del("Content-Length")
	resp.ContentLength = int64(len(framed))
	resp.Body = io.NopCloser(bytes.NewReader(framed))
	return nil
}

// frameEvent encodes a JSON value as one event of a stream.
func frameEvent(data []byte) ([]byte, error) {
	var framed bytes.Buffer
	framed.WriteString("data: ")
	if err := json.Compact(&framed, data); err != nil {
		return nil, fmt.Errorf("the peer answers with something that is neither a stream nor JSON: %w", err)
	}
	framed.WriteString("\n\n")
	return framed.Bytes(), nil
}

const (
	// maxErrorBody is the maximum number of bytes read from an error's body.
	maxErrorBody = 64 << 10
	// maxRetryAfter is the longest wait that a peer can request.
	maxRetryAfter = 24 * time.Hour
)

// hiddenError returns the error in a response, without secrets that the peer may have repeated
// from the request.
func hiddenError(resp *http.Response, hidden []string) *HTTPError {
	e := newHTTPError(resp)
	if resp.Request != nil {
		if _, token, ok := strings.Cut(resp.Request.Header.Get("Authorization"), " "); ok {
			hidden = append(slices.Clone(hidden), token)
		}
	}
	e.Message, e.WWWAuthenticate = redactSecrets(e.Message, hidden), redactSecrets(e.WWWAuthenticate, hidden)
	return e
}

// newHTTPError returns a response's error in the peer's words.
func newHTTPError(resp *http.Response) *HTTPError {
	e := &HTTPError{
		Status:          resp.StatusCode,
		RetryAfter:      parseRetryAfter(resp.Header.Get("Retry-After"), time.Now()),
		WWWAuthenticate: CleanText(strings.Join(resp.Header.Values("WWW-Authenticate"), ", "), MaxShown),
	}
	if location := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && location != "" {
		e.Message = "a redirect is not followed"
		if u, err := url.Parse(location); err == nil && u.Host != "" {
			e.Message = "a redirect to " + CleanText(ShownOrigin(u), MaxShown) + " is not followed"
		}
		return e
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return e // the status says enough
	}
	if kind := MediaType(resp); IsJSON(kind) || kind == "" || kind == TypePlain {
		e.Message, e.Err = DecodeError(data)
	}
	return e
}

// parseRetryAfter parses a Retry-After header: seconds, or a date. It returns 0 for
// anything else.
func parseRetryAfter(header string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseInt(header, 10, 64); err == nil {
		wait = time.Duration(min(seconds, int64(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// wantsStream reports whether a request accepts a stream.
func wantsStream(req *http.Request) bool { return req.Header.Get("Accept") == TypeEvents }
