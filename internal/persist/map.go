// Package persist implements a map whose copies share their unchanged entries.
package persist

import (
	"iter"
	"maps"
	"reflect"
	"sync/atomic"
)

// Map is a map of changes above entries that copies share. Copying costs as much as the changes.
// The zero value is empty. An unchanging map may be read, compared and copied concurrently.
type Map[K comparable, V any] struct {
	// layers are replaced by equal ones when an unchanging map is copied.
	layers atomic.Pointer[layers[K, V]]
	n      int
}

// layers are the entries of a map.
type layers[K comparable, V any] struct {
	// shared are entries that other maps may have too, so they never change.
	shared map[K]V
	// own has the added and replaced entries, and gone the removed keys of shared.
	own  map[K]V
	gone map[K]bool
}

// get returns the layers. They are not nil.
func (m *Map[K, V]) get() *layers[K, V] {
	if l := m.layers.Load(); l != nil {
		return l
	}
	return new(layers[K, V])
}

// Len returns the number of entries.
func (m *Map[K, V]) Len() int { return m.n }

// Get returns the value of a key.
func (m *Map[K, V]) Get(key K) (V, bool) { return m.get().find(key) }

func (l *layers[K, V]) find(key K) (V, bool) {
	v, ok := l.own[key]
	if !ok && !l.gone[key] {
		v, ok = l.shared[key]
	}
	return v, ok
}

// Clone returns a copy. Changes to either map do not affect the other.
func (m *Map[K, V]) Clone() *Map[K, V] {
	l := m.get()
	if len(l.own)+len(l.gone) > few+len(l.shared)/16 {
		l = l.flatten()
		m.layers.Store(l)
	}
	c := &Map[K, V]{n: m.n}
	c.layers.Store(&layers[K, V]{l.shared, maps.Clone(l.own), maps.Clone(l.gone)})
	return c
}

// few is the number of changes that are copied, however small the map is.
const few = 16

// flatten returns the same entries without changes.
func (l *layers[K, V]) flatten() *layers[K, V] {
	if len(l.shared) == 0 {
		return &layers[K, V]{shared: l.own}
	}
	all := maps.Clone(l.shared)
	maps.Copy(all, l.own)
	maps.DeleteFunc(all, func(key K, _ V) bool { return l.gone[key] })
	return &layers[K, V]{shared: all}
}

// Set sets the value of a key.
func (m *Map[K, V]) Set(key K, value V) {
	l := m.get()
	if _, ok := l.find(key); !ok {
		m.n++
	}
	if l.own == nil {
		l.own = make(map[K]V)
	}
	l.own[key] = value
	delete(l.gone, key)
	m.layers.Store(l)
}

// Delete removes a key and reports whether it was present.
func (m *Map[K, V]) Delete(key K) bool {
	l := m.get()
	if _, ok := l.find(key); !ok {
		return false
	}
	m.n--
	delete(l.own, key)
	if _, ok := l.shared[key]; ok {
		if l.gone == nil {
			l.gone = make(map[K]bool)
		}
		l.gone[key] = true
	}
	return true
}

// All returns all entries, in no particular order.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		l := m.get()
		for key, value := range l.own {
			if !yield(key, value) {
				return
			}
		}
		for key, value := range l.shared {
			if _, replaced := l.own[key]; !replaced && !l.gone[key] && !yield(key, value) {
				return
			}
		}
	}
}

// Diff calls differs for each key whose values differ, or that only one map has. It skips entries
// that the maps share.
func Diff[K comparable, V any](a, b *Map[K, V], same func(V, V) bool, differs func(K)) {
	x, y := a.get(), b.get()
	seen := make(map[K]bool)
	compare := func(key K) {
		if seen[key] {
			return
		}
		seen[key] = true
		before, was := x.find(key)
		after, is := y.find(key)
		if was != is || was && !same(before, after) {
			differs(key)
		}
	}
	alike := reflect.ValueOf(x.shared).Pointer() == reflect.ValueOf(y.shared).Pointer()
	for _, l := range []*layers[K, V]{x, y} {
		for key := range l.own {
			compare(key)
		}
		for key := range l.gone {
			compare(key)
		}
		if alike {
			continue
		}
		for key := range l.shared {
			compare(key)
		}
	}
}
