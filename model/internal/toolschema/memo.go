package toolschema

import (
	"crypto/sha256"
	"sync"

	"github.com/agentruntime/agentruntime/internal/recent"
)

const (
	// maxRemembered limits the number of kept schemas.
	maxRemembered = 512
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
	mu    sync.Mutex
	known *recent.Map[memoKey, Mapped]
}

var remembered = memo{known: recent.NewMap[memoKey, Mapped](maxRemembered)}

// get returns a mapped schema, if it is known.
func (m *memo) get(key memoKey) (Mapped, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known.Get(key)
}

// add keeps a mapped schema.
func (m *memo) add(key memoKey, mapped Mapped) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known.Put(key, mapped)
}
