package toolschema

import (
	"crypto/sha256"
	"sync"
)

const (
	// maxRemembered is the number of mapped schemas that each of two generations keeps.
	maxRemembered = 256
	// longestRemembered limits the size of kept schemas, in bytes.
	longestRemembered = 16 << 10
)

// memoKey is a schema, by its hash, in a dialect.
type memoKey struct {
	dialect *Dialect
	sum     [sha256.Size]byte
}

// memo caches mapped schemas, because turns use the same tools repeatedly. It is safe for
// concurrent use.
type memo struct {
	mu          sync.Mutex
	young, aged map[memoKey]Mapped
}

var remembered memo

// get returns a mapped schema, if it is known.
func (m *memo) get(key memoKey) (Mapped, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.young[key]
	if !ok {
		if known, ok = m.aged[key]; ok {
			m.put(key, known)
		}
	}
	return known, ok
}

// add keeps a mapped schema.
func (m *memo) add(key memoKey, mapped Mapped) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, mapped)
}

// put caches a mapped schema, discarding the older half of a full memo.
func (m *memo) put(key memoKey, mapped Mapped) {
	if m.young == nil || len(m.young) >= maxRemembered {
		m.young, m.aged = make(map[memoKey]Mapped, maxRemembered), m.young
	}
	m.young[key] = mapped
}
