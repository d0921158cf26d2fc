// Package recent keeps a limited number of values.
package recent

// Map is a map with a limited number of keys: a new key replaces the oldest one. Make it with NewMap.
type Map[K comparable, V any] struct {
	values map[K]V
	limit  int
	// ring holds the keys in order of arrival; next is the position of the next one once the ring
	// is full.
	ring []K
	next int
}

// NewMap returns an empty map of at most limit keys.
func NewMap[K comparable, V any](limit int) *Map[K, V] {
	return &Map[K, V]{values: make(map[K]V), limit: limit}
}

// Get returns the value of a key, and whether the map has it.
func (m *Map[K, V]) Get(key K) (V, bool) {
	value, ok := m.values[key]
	return value, ok
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(key K, value V) {
	if _, known := m.values[key]; !known {
		if len(m.ring) < m.limit {
			m.ring = append(m.ring, key)
		} else {
			delete(m.values, m.ring[m.next])
			m.ring[m.next] = key
			m.next = (m.next + 1) % m.limit
		}
	}
	m.values[key] = value
}

// Len returns the number of keys.
func (m *Map[K, V]) Len() int { return len(m.values) }
