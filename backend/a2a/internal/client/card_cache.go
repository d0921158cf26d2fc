package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

// MaxCard is the maximum size of an agent card in bytes.
const MaxCard = 256 << 10

const (
	// minCardAge is the minimum time for which a card is cached, whatever its peer says: a poll
	// must not fetch it each time.
	minCardAge = 5 * time.Second
	// staleFor is how long an outdated card stays in use after a failed fetch, before the next
	// attempt.
	staleFor = 30 * time.Second
)

// cardCache caches the connection that results from a peer's card while the card is valid.
// Concurrent callers share one fetch. It is safe for concurrent use.
type cardCache struct {
	// fetch fetches the card. tag is the cached card's tag; nil bytes mean an unchanged card.
	fetch func(ctx context.Context, tag string) (*fetched, error)
	// open opens the connection for a card.
	open func(ctx context.Context, card []byte) (*Connection, error)
	ttl  time.Duration

	mu      sync.Mutex
	current *Connection
	tag     string
	expires time.Time
	// refused is set if a call showed that the card is outdated.
	refused bool
	flight  *flight
}

// fetched is the response to a request for a card.
type fetched struct {
	// Card is nil if the card has not changed.
	Card []byte
	Tag  string
	// maxAge is the card's lifetime according to the peer; negative if not given.
	maxAge time.Duration
}

// flight is a fetch in progress.
type flight struct {
	done chan struct{}
	// conn and err are the result; both are nil if the caller that started the fetch was canceled
	// and another must start over.
	conn *Connection
	err  error
}

// get returns the connection for the card.
func (c *cardCache) get(ctx context.Context) (*Connection, error) {
	for {
		c.mu.Lock()
		if c.current != nil && !c.refused && time.Now().Before(c.expires) {
			defer c.mu.Unlock()
			return c.current, nil
		}
		f := c.flight
		if f == nil {
			f = &flight{done: make(chan struct{})}
			c.flight = f
			c.mu.Unlock()
			return c.runFetch(ctx, f)
		}
		c.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if f.conn != nil || f.err != nil {
			return f.conn, f.err
		}
	}
}

// runFetch fetches the card for all waiters.
func (c *cardCache) runFetch(ctx context.Context, f *flight) (conn *Connection, err error) {
	defer func() {
		if ctx.Err() == nil {
			f.conn, f.err = conn, err
		}
		c.mu.Lock()
		c.flight = nil
		c.mu.Unlock()
		close(f.done)
	}()
	c.mu.Lock()
	current, tag, refused := c.current, c.tag, c.refused
	c.mu.Unlock()
	got, err := c.fetch(ctx, tag)
	switch {
	case err != nil && current != nil && !refused && isMomentary(err):
		c.storeConnection(current, tag, time.Now().Add(staleFor))
		return current, nil
	case err != nil:
		return nil, fmt.Errorf("fetch the agent card: %w", err)
	case got.Card == nil && current != nil:
		c.storeConnection(current, tag, c.validUntil(got))
		return current, nil
	}
	if conn, err = c.open(ctx, got.Card); err != nil {
		return nil, err
	}
	c.storeConnection(conn, got.Tag, c.validUntil(got))
	return conn, nil
}

func (c *cardCache) storeConnection(conn *Connection, tag string, expires time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.tag, c.expires, c.refused = conn, tag, expires, false
}

// validUntil returns how long a response is valid: as configured, or less if the peer says so.
func (c *cardCache) validUntil(f *fetched) time.Time {
	age := c.ttl
	if f.maxAge >= 0 {
		age = min(age, f.maxAge)
	}
	return time.Now().Add(max(age, minCardAge))
}

// invalidateCard makes the next get fetch the card again.
func (c *cardCache) invalidateCard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = true
}

// isMomentary reports whether an error is temporary and unrelated to the card.
func isMomentary(err error) bool {
	if refused, ok := errors.AsType[*HTTPError](err); ok {
		return refused.Status >= http.StatusInternalServerError || refused.Status == http.StatusTooManyRequests
	}
	if _, ok := errors.AsType[*TooLargeError](err); ok {
		return false
	}
	_, wrong := errors.AsType[*ContentTypeError](err)
	return !wrong
}

// MaxAge returns a response's lifetime according to its header; negative if not given.
func MaxAge(header http.Header) time.Duration {
	age := time.Duration(-1)
	for directive := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-cache", "no-store":
			return 0
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 32)
			if err == nil {
				age = time.Duration(seconds) * time.Second
			}
		}
	}
	return age
}

// Connection is the way to call a peer according to its card. It is immutable: a changed card
// creates a new one.
type Connection struct {
	Client *a2aclient.Client
	Card   *a2a.AgentCard
	// Iface is the chosen interface.
	Iface *a2a.AgentInterface
	// Streaming is set if the peer supports streams and the configuration enables
	// them.
	Streaming bool
	// Extension is set if the peer supports the delegation extension.
	Extension bool
}
