package plugins

import (
	"encoding/json"
)

// Scope is the lifetime of a state value.
type Scope string

// The scopes of state.
const (
	// ScopeRun lives as long as the turn, however often it is suspended.
	ScopeRun Scope = "run"
	// ScopeSession lives as long as the session.
	ScopeSession Scope = "session"
)

// StateKey is a state key, regardless of the type of its values. Only NewKey creates one.
type StateKey interface {
	// ID names the key; it is the same in every process.
	ID() string
	// Scope returns how long the value lives.
	Scope() Scope

	// Decode reads a value's JSON form.
	Decode(raw json.RawMessage) (any, error)
	// Merge returns the merged value after others have committed theirs, and whether the key
	// supports merging.
	Merge(committed, own any) (any, bool)
}

// Key is a typed state key. Make one with NewKey at package level, and declare it in Register.
//
// Values are kept as JSON between two activations of a turn, and between two turns of a session: a
// T must survive a JSON round trip unchanged.
type Key[T any] struct {
	id     string
	scope  Scope
	merges func(committed, own T) T
}

var _ StateKey = (*Key[int])(nil)

// KeyOption is an option of NewKey.
type KeyOption[T any] func(*Key[T])

// Merge lets two overlapping turns of a session both write a key: the later turn merges its value
// into the committed one. The function must be commutative and idempotent, like a union or
// maximum. Without Merge, the later turn's value replaces the committed one.
func Merge[T any](merge func(committed, own T) T) KeyOption[T] {
	return func(k *Key[T]) { k.merges = merge }
}

// NewKey returns a key. Its id should begin with the name of the plugin that
// owns it, as in "permission.grants".
func NewKey[T any](id string, scope Scope, options ...KeyOption[T]) *Key[T] {
	k := &Key[T]{id: id, scope: scope}
	for _, option := range options {
		option(k)
	}
	return k
}

// ID returns the key's name.
func (k *Key[T]) ID() string { return k.id }

// Scope returns how long the key's value lives.
func (k *Key[T]) Scope() Scope { return k.scope }

// Get returns the key's value: the one written in this phase, else the committed one, else the
// zero value. Do not modify what it refers to; Set a new value.
func (k *Key[T]) Get(p *PhaseContext) T {
	set, _ := p.Value(k).(T) // not p.Value(k).(T) alone: an interface may be set to nil
	return set
}

// Set sets the key's value. Later hooks of the phase see it immediately, and it is committed with
// the phase. Setting an undeclared key, or a value that cannot be encoded as JSON, fails the hook.
func (k *Key[T]) Set(p *PhaseContext, v T) { p.SetValue(k, v) }

// Update sets the key to the result of applying change to its value.
func (k *Key[T]) Update(p *PhaseContext, change func(T) T) { k.Set(p, change(k.Get(p))) }

// Decode decodes a value's JSON form.
func (k *Key[T]) Decode(raw json.RawMessage) (any, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// Merge merges two values if the key was created with Merge.
func (k *Key[T]) Merge(committed, own any) (any, bool) {
	if k.merges == nil {
		return own, false
	}
	theirs, _ := committed.(T)
	ours, _ := own.(T)
	return k.merges(theirs, ours), true
}
