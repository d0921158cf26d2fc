package mcp

import (
	"strings"
	"sync"
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
