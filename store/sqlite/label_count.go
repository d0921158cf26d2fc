package sqlite

import (
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

const (
	// rare is the maximum number of sessions of a label for which a query starts from those
	// sessions and sorts them. For a more common label it scans the latest sessions.
	rare = 1000
	// maxCommonLabels is how many common labels are cached, and commonUses how often one is used
	// before it is counted again, because its sessions may have been deleted.
	maxCommonLabels = 256
	commonUses      = 1000
)

// label is a label of sessions.
type label struct{ key, value string }

// commonLabels caches labels that were counted and are not rare. The zero value is empty.
type commonLabels struct {
	mu   sync.Mutex
	left map[label]int
}

// use reports whether a label is known to be common.
func (c *commonLabels) use(l label) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left, known := c.left[l]
	switch {
	case left > 1:
		c.left[l] = left - 1
	case known:
		delete(c.left, l)
	}
	return known
}

// add records that a label is common.
func (c *commonLabels) add(l label) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil || len(c.left) >= maxCommonLabels {
		c.left = make(map[label]int)
	}
	c.left[l] = commonUses
}

// countLabel counts the sessions with a label, up to a number.
const countLabel = "SELECT count(*) FROM (SELECT 1 FROM session_labels l WHERE l.key = $1 AND l.value = $2 LIMIT $3)"

// isRare reports whether few sessions have a label.
func (s *Store) isRare(ctx context.Context, key, value string) (bool, error) {
	l := label{key, value}
	if s.common.use(l) {
		return false, nil
	}
	n, err := sqlstore.FindValue[int](ctx, s.reader, countLabel, key, value, rare+1)
	if err != nil || n <= rare {
		return err == nil, err
	}
	s.common.add(l)
	return false, nil
}
