package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// awaitChange subscribes to a resource and waits until it changes. Without a URI it waits for a
// change of the list of resources. It returns false if nothing has changed within limit.
func (c *session) awaitChange(ctx context.Context, uri string, limit time.Duration) (bool, error) {
	r := c.client.InitializeResult()
	if r == nil || r.Capabilities == nil || r.Capabilities.Resources == nil {
		return false, errors.New("it has no resources")
	}
	offered := r.Capabilities.Resources
	if uri == "" && !offered.ListChanged || uri != "" && !offered.Subscribe {
		return false, errNoChanges
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	changed := c.watches.add(uri)
	if uri == "" {
		defer c.watches.remove(changed, uri)
	} else {
		defer c.unsubscribe(ctx, changed, uri)
		if err := c.subscribe(ctx, uri); err != nil {
			return false, err
		}
	}
	select {
	case <-changed:
		return true, nil
	case <-late.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

var errNoChanges = errors.New("the server does not tell when this changes; read it again instead")

func (c *session) subscribe(ctx context.Context, uri string) error {
	c.watches.subscribing.Lock()
	defer c.watches.subscribing.Unlock()
	return c.client.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

// unsubscribe ends the subscription unless another call needs it.
func (c *session) unsubscribe(ctx context.Context, changed chan struct{}, uri string) {
	c.watches.subscribing.Lock()
	defer c.watches.subscribing.Unlock()
	if !c.watches.remove(changed, uri) || c.ctx.Err() != nil || c.keepSubscription(uri) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settlePing)
	defer cancel()
	if err := c.client.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}); err != nil {
		c.logger.Debug("ending a subscription failed", "error", c.target.hideSecrets(err))
	}
}

// maxKept bounds the subscriptions that stay open.
const maxKept = 32

// keepSubscription reports whether a subscription stays open until the session ends. A sessionless
// program that uses the Go SDK drops all subscriptions of its client when one ends.
func (c *session) keepSubscription(uri string) bool {
	if _, isProgram := c.carrier.(*program); !isProgram || !c.isStateless() {
		return false
	}
	if c.watches.kept == nil {
		c.watches.kept = make(map[string]bool)
	}
	if len(c.watches.kept) < maxKept {
		c.watches.kept[uri] = true
	}
	return c.watches.kept[uri]
}
