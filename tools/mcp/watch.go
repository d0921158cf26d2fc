package mcp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watches are the calls of one session that wait for changes of resources. The zero value is empty.
type watches struct {
	// subscribing serializes subscriptions, so that one call does not end another's. kept are the
	// subscriptions that stay open.
	subscribing sync.Mutex
	kept        map[string]bool

	mu sync.Mutex
	// waiting maps channels to the URIs whose changes close them; "" is the list of resources.
	waiting map[chan struct{}]string
}

// add returns a channel that is closed when a resource changes.
func (w *watches) add(uri string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = make(map[chan struct{}]string)
	}
	changed := make(chan struct{})
	w.waiting[changed] = uri
	return changed
}

// remove removes a channel, and reports whether no other channel waits for the same resource.
func (w *watches) remove(changed chan struct{}, uri string) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, changed)
	for _, other := range w.waiting {
		if other == uri {
			return false
		}
	}
	return true
}

// notify wakes the calls that wait for a resource. A server may name a part of the resource, such
// as a file of a directory.
func (w *watches) notify(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for changed, watched := range w.waiting {
		if watched == uri || watched != "" && strings.HasPrefix(uri, strings.TrimSuffix(watched, "/")+"/") {
			close(changed)
			delete(w.waiting, changed)
		}
	}
}

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
