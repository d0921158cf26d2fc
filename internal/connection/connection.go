// Package connection lets a turn's requests use credentials that belong to the party the turn works
// for and that are not in the configuration: a Gestalt host resolves them with the turn's grant.
package connection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Connection is a host's description of a connection. It must not be logged or shown.
type Connection struct {
	// Headers are request headers, and Params the connection's other parameters.
	Headers, Params map[string]string
	// ExpiresAt is the time when the headers expire; zero if unknown.
	ExpiresAt time.Time
}

// Source resolves connections for one turn. It is safe for concurrent use.
type Source interface {
	// Resolve returns the connection with a name. The error never contains a credential.
	Resolve(ctx context.Context, name string) (*Connection, error)
}

// Error reports an unusable connection.
type Error struct {
	Name string
	// Temporary is set if the connection may soon be usable.
	Temporary bool
	Err       error
}

// Error names the connection.
func (e *Error) Error() string {
	return fmt.Sprintf("the connection %q of the host cannot be used: %v", e.Name, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// errNoHost reports a turn that was not requested by a host.
var errNoHost = errors.New("the turn has no host: connections are those of turns that `runtime provider serve` works on with a grant")

type contextKey struct{}

// NewContext returns a context whose requests resolve their connections from a source.
func NewContext(ctx context.Context, s Source) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// Resolve returns the connection for a request. It returns an *Error, or the error of an ended
// context.
func Resolve(ctx context.Context, name string) (*Connection, error) {
	source, ok := ctx.Value(contextKey{}).(Source)
	if !ok {
		return nil, &Error{Name: name, Err: errNoHost}
	}
	found, err := source.Resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, header := range slices.Sorted(maps.Keys(found.Headers)) {
		if !validHeader(header, found.Headers[header]) {
			return nil, &Error{Name: name, Err: fmt.Errorf("its header %q cannot be sent", header)}
		}
	}
	return found, nil
}

// reserved are the headers that depend on a request's body and network connection, which a host
// does not know.
var reserved = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Idempotency-Key",
	"Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// validHeader reports whether a header may be sent.
func validHeader(name, value string) bool {
	const symbols = "!#$%&'*+-.^_`|~"
	plain := name != "" && strings.IndexFunc(name, func(r rune) bool {
		alphanumeric := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !alphanumeric && !strings.ContainsRune(symbols, r)
	}) < 0
	control := strings.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) >= 0
	return plain && !control && !slices.Contains(reserved, http.CanonicalHeaderKey(name))
}

// SetHeaders sets the headers of the connection, replacing existing ones.
func (c *Connection) SetHeaders(to http.Header) {
	for name, value := range c.Headers {
		to.Set(name, value)
	}
}

// Secrets returns the texts that must not be shown: the values of headers, and the
// credentials in them.
func (c *Connection) Secrets() []string {
	var list []string
	for _, value := range c.Headers {
		list = append(list, value, value[strings.LastIndexByte(value, ' ')+1:])
	}
	return list
}
