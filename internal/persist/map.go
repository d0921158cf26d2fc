// Package persist implements a map whose copies share structure, so that the cost of a changed
// copy grows with the change.
package persist

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Map is a hash trie. Copying takes constant time; changing a copy replaces the few nodes on the
// path to the entry. The zero value is empty. An unchanging map may be read, compared and copied
// concurrently.
type Map[K comparable, V any] struct {
	root *node[K, V]
	n    int
	// own marks the nodes that only this map has, which it may change in place. It is cleared when
	// the map is copied.
	own atomic.Pointer[owner]
}

// owner is compared by address, so it must have a size.
type owner struct{ _ byte }

// node has up to 32 places, each with an entry or a child node. When the hash is used up, it is a
// list of entries.
type node[K comparable, V any] struct {
	own *owner
	// filled marks the places with an entry, nested those with a node.
	filled, nested uint32
	entries        []entry[K, V]
	nodes          []*node[K, V]
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

const (
	// width is the number of hash bits that a node uses, and depth the maximum number in total:
	// beyond it, entries with equal hashes are in a list.
	width = 5
	depth = 60
)

var seed = maphash.MakeSeed()

func hashOf[K comparable](key K) uint64 { return maphash.Comparable(seed, key) }

// placeOf returns the place of a hash in a node, as a bit.
func placeOf(hash uint64, shift uint) uint32 { return 1 << (hash >> shift & (1<<width - 1)) }

// rank returns the number of places in a set before one.
func rank(set, place uint32) int { return bits.OnesCount32(set & (place - 1)) }

// Len returns the number of entries.
func (m *Map[K, V]) Len() int { return m.n }

// Get returns the value of a key.
func (m *Map[K, V]) Get(key K) (V, bool) {
	if e := m.root.find(hashOf(key), 0, key); e != nil {
		return e.value, true
	}
	var none V
	return none, false
}

// find returns the entry of a key, or nil.
func (n *node[K, V]) find(hash uint64, shift uint, key K) *entry[K, V] {
	for ; n != nil; shift += width {
		if shift >= depth {
			return n.findInList(key)
		}
		place := placeOf(hash, shift)
		if n.filled&place != 0 {
			if e := &n.entries[rank(n.filled, place)]; e.key == key {
				return e
			}
			return nil
		}
		if n.nested&place == 0 {
			return nil
		}
		n = n.nodes[rank(n.nested, place)]
	}
	return nil
}

func (n *node[K, V]) findInList(key K) *entry[K, V] {
	for i := range n.entries {
		if n.entries[i].key == key {
			return &n.entries[i]
		}
	}
	return nil
}

// Clone returns a copy. Changes to either map do not affect the other.
func (m *Map[K, V]) Clone() *Map[K, V] {
	if m.own.Load() != nil { // else others may be reading it
		m.own.Store(nil)
	}
	return &Map[K, V]{root: m.root, n: m.n}
}

// owner returns the mark of nodes that the map may change in place.
func (m *Map[K, V]) owner() *owner {
	own := m.own.Load()
	if own == nil {
		own = new(owner)
		m.own.Store(own)
	}
	return own
}

// Set sets the value of a key.
func (m *Map[K, V]) Set(key K, value V) {
	own := m.owner()
	if m.root == nil {
		m.root = &node[K, V]{own: own}
	}
	var added bool
	m.root, added = m.root.set(own, hashOf(key), 0, entry[K, V]{key, value})
	if added {
		m.n++
	}
}

// Delete removes a key and reports whether it was present.
func (m *Map[K, V]) Delete(key K) bool {
	hash := hashOf(key)
	if m.root.find(hash, 0, key) == nil {
		return false
	}
	m.root = m.root.without(m.owner(), hash, 0, key)
	m.n--
	return true
}

// editable returns the node if it is unshared, or else a copy.
func (n *node[K, V]) editable(own *owner) *node[K, V] {
	if n.own == own {
		return n
	}
	return &node[K, V]{own: own, filled: n.filled, nested: n.nested, entries: slices.Clone(n.entries), nodes: slices.Clone(n.nodes)}
}

func (n *node[K, V]) set(own *owner, hash uint64, shift uint, e entry[K, V]) (_ *node[K, V], added bool) {
	n = n.editable(own)
	if shift >= depth {
		if known := n.findInList(e.key); known != nil {
			known.value = e.value
			return n, false
		}
		n.entries = append(n.entries, e)
		return n, true
	}
	place := placeOf(hash, shift)
	switch {
	case n.nested&place != 0:
		i := rank(n.nested, place)
		n.nodes[i], added = n.nodes[i].set(own, hash, shift+width, e)
		return n, added
	case n.filled&place == 0:
		n.entries = slices.Insert(n.entries, rank(n.filled, place), e)
		n.filled |= place
		return n, true
	}
	i := rank(n.filled, place)
	known := n.entries[i]
	if known.key == e.key {
		n.entries[i].value = e.value
		return n, false
	}
	below := &node[K, V]{own: own}
	below, _ = below.set(own, hashOf(known.key), shift+width, known)
	below, _ = below.set(own, hash, shift+width, e)
	n.entries = slices.Delete(n.entries, i, i+1)
	n.nodes = slices.Insert(n.nodes, rank(n.nested, place), below)
	n.filled, n.nested = n.filled&^place, n.nested|place
	return n, true
}

// without removes an existing key. A node with one remaining entry is replaced by the entry.
func (n *node[K, V]) without(own *owner, hash uint64, shift uint, key K) *node[K, V] {
	n = n.editable(own)
	place := placeOf(hash, shift)
	switch {
	case shift >= depth:
		n.entries = slices.DeleteFunc(n.entries, func(e entry[K, V]) bool { return e.key == key })
	case n.filled&place != 0:
		i := rank(n.filled, place)
		n.entries = slices.Delete(n.entries, i, i+1)
		n.filled &^= place
	default:
		i := rank(n.nested, place)
		below := n.nodes[i].without(own, hash, shift+width, key)
		n.nodes[i] = below
		if len(below.entries) == 1 && len(below.nodes) == 0 {
			n.nodes = slices.Delete(n.nodes, i, i+1)
			n.nested &^= place
			n.entries = slices.Insert(n.entries, rank(n.filled, place), below.entries[0])
			n.filled |= place
		}
	}
	return n
}

// All returns all entries, in no particular order.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.all(yield) }
}

func (n *node[K, V]) all(yield func(K, V) bool) bool {
	if n == nil {
		return true
	}
	for i := range n.entries {
		if !yield(n.entries[i].key, n.entries[i].value) {
			return false
		}
	}
	for _, below := range n.nodes {
		if !below.all(yield) {
			return false
		}
	}
	return true
}

// Diff calls differs for each key whose values differ, or that only one map has. It skips structure
// that the maps share.
func Diff[K comparable, V any](a, b *Map[K, V], same func(V, V) bool, differs func(K)) {
	d := differ[K, V]{same, differs}
	d.compare(a.root, b.root, 0)
}

type differ[K comparable, V any] struct {
	same    func(V, V) bool
	differs func(K)
}

func (d *differ[K, V]) compare(a, b *node[K, V], shift uint) {
	switch {
	case a == b:
		return
	case a == nil, b == nil, shift >= depth:
		d.compareEach(branch[K, V]{below: a}, branch[K, V]{below: b}, shift)
		return
	}
	for left := a.filled | a.nested | b.filled | b.nested; left != 0; left &= left - 1 {
		place := left & -left
		x, y := a.at(place), b.at(place)
		if x.below != nil && y.below != nil {
			d.compare(x.below, y.below, shift+width)
		} else {
			d.compareEach(x, y, shift+width)
		}
	}
}

// compareEach looks up each entry of one branch in the other.
func (d *differ[K, V]) compareEach(a, b branch[K, V], shift uint) {
	a.all(func(key K, value V) bool {
		if other := b.find(key, shift); other == nil || !d.same(value, other.value) {
			d.differs(key)
		}
		return true
	})
	b.all(func(key K, _ V) bool {
		if a.find(key, shift) == nil {
			d.differs(key)
		}
		return true
	})
}

// branch is an element of a node: one entry, a node, or nothing.
type branch[K comparable, V any] struct {
	single *entry[K, V]
	below  *node[K, V]
}

func (n *node[K, V]) at(place uint32) (b branch[K, V]) {
	switch {
	case n.nested&place != 0:
		b.below = n.nodes[rank(n.nested, place)]
	case n.filled&place != 0:
		b.single = &n.entries[rank(n.filled, place)]
	}
	return b
}

func (b branch[K, V]) all(yield func(K, V) bool) {
	if b.single != nil {
		yield(b.single.key, b.single.value)
		return
	}
	b.below.all(yield)
}

func (b branch[K, V]) find(key K, shift uint) *entry[K, V] {
	if b.single == nil {
		return b.below.find(hashOf(key), shift, key)
	}
	if b.single.key != key {
		return nil
	}
	return b.single
}
