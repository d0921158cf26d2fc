package provider

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/connection"
	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/service"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// connectionTime is the timeout for requesting a connection.
	connectionTime = 30 * time.Second
	// connectionAge is how long a connection is used before it is resolved again. connectionMargin
	// is how long before its expiry that happens.
	connectionAge    = time.Minute
	connectionMargin = 30 * time.Second
)

// connections resolves the connections of one turn through the host. It is safe for concurrent use.
type connections struct {
	host *host
	of   hostTools

	mu   sync.Mutex
	kept map[string]keptConnection
}

// keptConnection is a connection cached until a time.
type keptConnection struct {
	*connection.Connection
	until time.Time
}

// TurnContext returns the context of a turn, in which requests can use connections of the host.
func (h *host) TurnContext(ctx context.Context, list []service.EphemeralTool) context.Context {
	for i := range list {
		c := &connections{host: h, kept: make(map[string]keptConnection)}
		if list[i].Kind == hostKind && json.Unmarshal(list[i].Config, &c.of) == nil {
			return connection.NewContext(ctx, c)
		}
	}
	return ctx
}

// Resolve requests a connection from the host, with the grant of the turn.
func (c *connections) Resolve(ctx context.Context, name string) (*connection.Connection, error) {
	if found := c.recall(name); found != nil {
		return found, nil
	}
	client, err := c.host.client()
	if err != nil {
		return nil, &connection.Error{Name: name, Err: err}
	}
	asking, cancel := context.WithTimeout(c.host.outgoing(ctx), connectionTime)
	defer cancel()
	answer, err := client.ResolveConnection(asking, &pb.ResolveAgentConnectionRequest{
		SessionId: c.of.SessionID, TurnId: c.of.TurnID, RunGrant: c.of.RunGrant, Connection: name,
	}, grpc.WaitForReady(true))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		code := status.Code(err)
		return nil, &connection.Error{Name: name, Temporary: code == codes.Unavailable || code == codes.DeadlineExceeded, Err: errors.New(status.Convert(err).Message())}
	}
	found := &connection.Connection{Headers: answer.GetHeaders(), Params: answer.GetParams()}
	if at := answer.GetExpiresAt(); at.IsValid() {
		found.ExpiresAt = at.AsTime()
	}
	c.keep(name, found)
	return found, nil
}

// recall returns a cached connection that is still valid; nil if absent.
func (c *connections) recall(name string) *connection.Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.kept[name]; ok && time.Now().Before(kept.until) {
		return kept.Connection
	}
	return nil
}

// keep caches a connection until it must be resolved again.
func (c *connections) keep(name string, found *connection.Connection) {
	until := time.Now().Add(connectionAge)
	if early := found.ExpiresAt.Add(-connectionMargin); !found.ExpiresAt.IsZero() && early.Before(until) {
		until = early
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept[name] = keptConnection{found, until}
}
