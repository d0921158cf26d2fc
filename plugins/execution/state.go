package execution

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/plugins"
)

// State is the storable state of a turn's plugins. An engine that restores it behaves like the
// original.
type State struct {
	// Run and Session are the state values, by scope.
	Run     map[string]json.RawMessage `json:"run,omitempty"`
	Session map[string]json.RawMessage `json:"session,omitempty"`
	// Written are the Session keys that the turn wrote, sorted.
	Written []string `json:"written,omitempty"`
	// Actions are the actions that wait for their phase, in order.
	Actions []ScheduledAction `json:"actions,omitempty"`
	// Request is the plugins' plan for the next request so far.
	Request *plugins.RequestPlan `json:"request,omitempty"`
	// Handoff is the agent requested to take over.
	Handoff string `json:"hand_off,omitempty"`
	// Answers are the answers to interactions of the current step's calls.
	Answers []Answered `json:"answers,omitempty"`
	// Begun are the plugins between RunStart and RunEnd.
	Begun []string `json:"begun,omitempty"`
}

// encodeStaged encodes staged changes as JSON: values, and payloads of actions that wait for
// another phase.
func (e *Engine) encodeStaged() error {
	for key, v := range e.staged.state {
		if v.raw != nil {
			continue
		}
		raw, err := json.Marshal(v.value)
		if err != nil {
			return &StateError{Key: key.ID(), Err: err}
		}
		e.staged.state[key] = entry{value: v.value, raw: raw, written: true}
	}
	for i := range e.staged.actions {
		a := &e.staged.actions[i]
		if a.raw != nil || a.Payload == nil || e.env.actions[e.env.findAction(a.Key)].phase == e.Context.Phase {
			continue
		}
		raw, err := json.Marshal(a.Payload)
		if err != nil {
			return fmt.Errorf("the payload of action %q: %w", a.Key, err)
		}
		a.raw = raw
	}
	return nil
}

// Export returns the plugins' state. Call it between two phases.
func (e *Engine) Export() State {
	s := State{
		Run: maps.Clone(e.unknown.run), Session: maps.Clone(e.unknown.session), Written: slices.Clone(e.unknown.written),
		Handoff: e.handOff, Answers: slices.Clone(e.answers), Begun: slices.Clip(e.begun),
	}
	for key, v := range e.state {
		if key.Scope() == plugins.ScopeSession {
			putValue(&s.Session, key.ID(), v.raw)
			if v.written {
				s.Written = append(s.Written, key.ID())
			}
		} else {
			putValue(&s.Run, key.ID(), v.raw)
		}
	}
	slices.Sort(s.Written)
	for i := range e.pending {
		s.Actions = append(s.Actions, ScheduledAction{Key: e.pending[i].Key, Payload: e.pending[i].raw})
	}
	s.Actions = append(s.Actions, e.unknown.actions...)
	if !e.request.Empty() {
		s.Request = clonePlan(e.request)
	}
	return s
}

func putValue(values *map[string]json.RawMessage, id string, raw json.RawMessage) {
	if *values == nil {
		*values = make(map[string]json.RawMessage)
	}
	(*values)[id] = raw
}

// Restore restores the result of Export, before the first phase. For a new turn of a session the
// state has only Session. State of plugins that the agent lacks is kept and exported again. The
// errors, each a *StateError, are all values that do not fit their key; nothing is restored then.
func (e *Engine) Restore(s State) error {
	known, err := e.decodeState(s)
	if err != nil {
		return err
	}
	e.state = known
	for id, raw := range s.Run {
		if _, ok := e.env.findKey(id, plugins.ScopeRun); !ok {
			putValue(&e.unknown.run, id, raw)
		}
	}
	for id, raw := range s.Session {
		if _, ok := e.env.findKey(id, plugins.ScopeSession); ok {
			continue
		}
		putValue(&e.unknown.session, id, raw)
		if slices.Contains(s.Written, id) {
			e.unknown.written = append(e.unknown.written, id)
		}
	}
	for _, a := range s.Actions {
		if e.env.findAction(a.Key) < 0 {
			e.unknown.actions = append(e.unknown.actions, a)
			continue
		}
		restored := pendingAction{Action: Action{Key: a.Key}, raw: a.Payload}
		if len(a.Payload) > 0 {
			restored.Payload = a.Payload
		}
		e.pending = append(e.pending, restored)
	}
	e.request = clonePlan(s.Request)
	e.handOff, e.answers, e.begun = s.Handoff, slices.Clone(s.Answers), slices.Clip(s.Begun)
	return nil
}

// decodeState returns the values of the keys that the plugins declared.
func (e *Engine) decodeState(s State) (map[plugins.StateKey]entry, error) {
	known := make(map[plugins.StateKey]entry, len(s.Run)+len(s.Session))
	var errs []error
	take := func(values map[string]json.RawMessage, scope plugins.Scope) {
		for _, id := range slices.Sorted(maps.Keys(values)) {
			key, ok := e.env.findKey(id, scope)
			if !ok {
				continue
			}
			v, err := key.Decode(values[id])
			if err != nil {
				errs = append(errs, &StateError{Key: id, Err: err})
				continue
			}
			known[key] = entry{value: v, raw: values[id], written: scope == plugins.ScopeRun || slices.Contains(s.Written, id)}
		}
	}
	take(s.Run, plugins.ScopeRun)
	take(s.Session, plugins.ScopeSession)
	return known, errors.Join(errs...)
}

// MergeSession merges the session state that other turns committed since this one began, before
// this turn's session state is stored. Unwritten keys take the committed value; written keys are
// merged if they support it, and otherwise keep this turn's value. Errors are as for Restore;
// then nothing is merged.
func (e *Engine) MergeSession(committed map[string]json.RawMessage) error {
	theirs, err := e.decodeState(State{Session: committed})
	if err != nil {
		return err
	}
	merged := make(map[plugins.StateKey]entry, len(theirs))
	for key, v := range theirs {
		own, ok := e.state[key]
		switch {
		case !ok || !own.written:
			merged[key] = v
		case !bytes.Equal(own.raw, v.raw):
			value, merges := key.Merge(v.value, own.value)
			if !merges {
				continue
			}
			raw, err := json.Marshal(value)
			if err != nil {
				return &StateError{Key: key.ID(), Err: err}
			}
			merged[key] = entry{value: value, raw: raw, written: true}
		}
	}
	for id, raw := range committed {
		if _, ok := e.env.findKey(id, plugins.ScopeSession); !ok && !slices.Contains(e.unknown.written, id) {
			putValue(&e.unknown.session, id, raw)
		}
	}
	if len(merged) > 0 {
		if e.state == nil {
			e.state = make(map[plugins.StateKey]entry, len(merged))
		}
		maps.Copy(e.state, merged)
		e.changed = true
	}
	return nil
}

// Snapshot returns the committed state as JSON by key; nil if nothing was committed since the last
// snapshot.
func (e *Engine) Snapshot() map[string]json.RawMessage {
	if !e.changed {
		return nil
	}
	e.changed = false
	out := make(map[string]json.RawMessage, len(e.state))
	for key, v := range e.state {
		out[key.ID()] = v.raw
	}
	return out
}

// UnknownKeyError reports that a hook wrote an undeclared key.
type UnknownKeyError struct{ Key string }

// Error names the key.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("state key %q was never declared: call StateKey in Register", e.Key)
}

// StateError reports that a key's value cannot be encoded as JSON, or that its stored value does
// not decode into the key's type.
type StateError struct {
	Key string
	Err error
}

// Error names the key and the cause.
func (e *StateError) Error() string { return fmt.Sprintf("state key %q: %v", e.Key, e.Err) }

// Unwrap returns the cause.
func (e *StateError) Unwrap() error { return e.Err }
