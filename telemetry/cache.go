package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"
)

// maxCached is how many keys a cache keeps. Keys hold names that come from
// outside, such as that of the model that served, so there may be any number.
const maxCached = 1024

// cache keeps what is made of a key. Reading takes no lock and allocates
// nothing; what is added makes a copy, which happens once per agent, model or
// tool. The zero value is empty.
type cache[K comparable, V any] struct {
	kept atomic.Pointer[map[K]*V]
	mu   sync.Mutex
}

// get returns what was made of a key, or makes it. A full cache keeps no more.
func (c *cache[K, V]) get(key K, create func(K) *V) *V {
	if kept := c.kept.Load(); kept != nil {
		if v, ok := (*kept)[key]; ok {
			return v
		}
	}
	return c.addEntry(key, create)
}

func (c *cache[K, V]) addEntry(key K, create func(K) *V) *V {
	c.mu.Lock()
	defer c.mu.Unlock()
	var next map[K]*V
	if kept := c.kept.Load(); kept != nil {
		if v, ok := (*kept)[key]; ok {
			return v
		}
		if len(*kept) >= maxCached {
			return create(key)
		}
		next = maps.Clone(*kept)
	} else {
		next = make(map[K]*V)
	}
	v := create(key)
	next[key] = v
	c.kept.Store(&next)
	return v
}
