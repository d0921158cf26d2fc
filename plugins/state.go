package plugins

import (
	"fmt"
)

// Scope says how long a value of the state lives.
type Scope string

// The scopes of state.
const (
	// ScopeRun lives as long as the turn.
	ScopeRun Scope = "run"
	// ScopeSession lives as long as the session.
	ScopeSession Scope = "session"
)

// StateKey is a key of the state, whatever the type of its values.
type StateKey interface {
	// ID names the key; it is the same in every process.
	ID() string
	// Scope says how long the value lives.
	Scope() Scope
}

// Key is a typed key of the state. Make one with NewKey at package level, and
// declare it in Register.
type Key[T any] struct {
	id    string
	scope Scope
}

var _ StateKey = (*Key[int])(nil)

// NewKey returns a key. Its id should begin with the name of the plugin that
// owns it, as in "permission.grants".
func NewKey[T any](id string, scope Scope) *Key[T] { return &Key[T]{id: id, scope: scope} }

// ID returns the key's name.
func (k *Key[T]) ID() string { return k.id }

// Scope returns how long the key's value lives.
func (k *Key[T]) Scope() Scope { return k.scope }

// Get returns the key's value: what this phase wrote, else what was committed,
// else the zero value.
func (k *Key[T]) Get(p *PhaseContext) T {
	if v, ok := p.engine.staged.state[k]; ok {
		set, _ := v.(T) // not v.(T) alone: an interface may be set to nil
		return set
	}
	v, _ := p.engine.state[k].(T)
	return v
}

// Set gives the key a value. It is seen by later hooks of the phase at once
// and committed with the phase. Setting a key that no plugin declared fails
// the turn.
func (k *Key[T]) Set(p *PhaseContext, v T) {
	e := p.engine
	if !e.env.declares(k) {
		e.staged.fail(&UnknownKeyError{Key: k.id})
		return
	}
	if e.staged.state == nil {
		e.staged.state = make(map[StateKey]any, 4)
	}
	e.staged.state[k] = v
}

// UnknownKeyError says that a hook wrote a key that no plugin declared.
type UnknownKeyError struct{ Key string }

// Error names the key.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("state key %q was never declared: call StateKey in Register", e.Key)
}
