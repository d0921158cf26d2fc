package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"
)

// maxCached limits the keys of a cache. Keys contain external names, such as the serving model,
// so their number is unbounded.
const maxCached = 1024

// cache caches values by key. Reading takes no lock and allocates nothing; adding copies the map,
// once per agent, model or tool. The zero value is empty.
type cache[K comparable, V any] struct {
	kept atomic.Pointer[map[K]*V]
	mu   sync.Mutex
}

// get returns the cached value of a key, or creates it. A full cache stores no more values.
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
