package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
)

// Error reports that a server could not be reached or violated the protocol.
type Error struct {
	// Server is the id of the entry.
	Server string
	Err    error
}

// Error names the server and the cause.
func (e *Error) Error() string { return fmt.Sprintf("mcp server %s: %v", e.Server, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrClosed is the cause if the runtime has closed the connection.
var ErrClosed = errors.New("the connection is closed")

// pausedError reports that a server keeps failing and is not tried for a while. It omits the last
// failure, which may come from another tenant's call.
type pausedError struct{ pause time.Duration }

// Error tells the pause.
func (e *pausedError) Error() string {
	return fmt.Sprintf("it keeps failing and is not tried again for %s; the reason is in the log of the runtime", e.pause.Round(time.Second/10))
}

// shortestSecret is the minimum length of a configured value that is searched for in texts. Shorter
// ones would match any text.
const shortestSecret = 8

// secretValues returns the configured values that must not appear in errors, longest
// first.
func (c *config) secretValues() []string {
	var texts []string
	add := func(value string) { texts = appendSecret(texts, value) }
	for _, value := range c.Env {
		add(value)
	}
	for _, value := range c.Headers {
		for _, part := range spec.Template(value).Parts() {
			add(part.Text)
		}
	}
	if c.Auth != nil {
		add(c.Auth.Token)
		add(c.Auth.ClientSecret)
		add(c.Auth.PrivateKey)
	}
	for _, part := range redact.URLParts(c.URL) {
		texts = append(texts, c.URL[part.Start:part.To]) // with its name, because the value may be short
	}
	if u, err := url.Parse(plainText(c.URL)); err == nil {
		for _, values := range u.Query() {
			for _, value := range values {
				add(value)
			}
		}
	}
	return longestFirst(texts)
}

// appendSecret adds a value, and the part after a scheme such as Bearer.
func appendSecret(texts []string, value string) []string {
	for _, text := range []string{value, value[strings.LastIndexByte(value, ' ')+1:]} {
		if len(text) >= shortestSecret {
			texts = append(texts, text, url.QueryEscape(text))
		}
	}
	return texts
}

// longestFirst returns the texts, longest first, without empty texts and duplicates.
func longestFirst(texts []string) []string {
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.DeleteFunc(slices.Compact(texts), func(text string) bool { return text == "" })
}

// hiddenError is an error whose text contains no secrets.
type hiddenError struct {
	text string
	err  error
}

// Error returns the text without secrets.
func (e *hiddenError) Error() string { return e.text }

// Unwrap returns the original error.
func (e *hiddenError) Unwrap() error { return e.err }

// maxError bounds the text of an error, much of which may come from a server, in bytes.
const maxError = 4 << 10
