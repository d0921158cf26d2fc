package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/tools"
)

// State is the state of a conversation.
type State[S any] struct {
	SessionID string
	// Messages never contain rendered prompts.
	Messages  []wire.Message
	Custom    S
	Artifacts []wire.Artifact
}

// StateOf returns a copy of the custom state of the session that a tool call or a hook belongs to.
// It is the zero value if it was never set.
func StateOf[S any](session tools.Session) (S, error) { return decodeCustom[S](session.Custom()) }

// UpdateState changes the custom state of a session. change receives a copy, runs without a lock,
// and is called again if the state changed in the meantime. If it fails, the state does not
// change.
func UpdateState[S any](session tools.Session, change func(state *S) error) error {
	return session.UpdateCustom(func(custom json.RawMessage) (json.RawMessage, error) {
		state, err := decodeCustom[S](custom)
		if err != nil {
			return nil, err
		}
		if err := change(&state); err != nil {
			return nil, err
		}
		return encodeCustom(state)
	})
}

// decodeCustom decodes a custom state. Numbers in an any keep their spelling, as json.Number.
func decodeCustom[S any](raw json.RawMessage) (S, error) {
	var state S
	if len(raw) == 0 {
		return state, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&state); err != nil {
		return state, fmt.Errorf("decode the custom state as %T: %w", state, err)
	}
	return state, nil
}

// encodeCustom encodes a custom state.
func encodeCustom[S any](state S) (json.RawMessage, error) {
	raw, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode the custom state: %w", err)
	}
	return raw, nil
}

// decodeState returns a wire state with its custom state decoded, or nil for nil.
func decodeState[S any](in *wire.SessionState) (*State[S], error) {
	if in == nil {
		return nil, nil //nolint:nilnil // there is no state
	}
	custom, err := decodeCustom[S](in.Custom)
	if err != nil {
		return nil, err
	}
	return &State[S]{SessionID: in.SessionID, Messages: in.Messages, Custom: custom, Artifacts: in.Artifacts}, nil
}

// encodeState is the reverse of decodeState.
func encodeState[S any](in *State[S]) (*wire.SessionState, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // there is no state
	}
	custom, err := encodeCustom(in.Custom)
	if err != nil {
		return nil, err
	}
	if string(custom) == "null" {
		custom = nil
	}
	return &wire.SessionState{SessionID: in.SessionID, Messages: in.Messages, Custom: custom, Artifacts: in.Artifacts}, nil
}

// transformState returns a state as a transform shows it. The transform owns the state.
func transformState[S any](ctx context.Context, show func(context.Context, *State[S]) (*State[S], error), in *wire.SessionState) (*wire.SessionState, error) {
	state, err := decodeState[S](in)
	if err != nil {
		return nil, err
	}
	if state, err = show(ctx, state); err != nil {
		return nil, err
	}
	out, err := encodeState(state)
	if out != nil {
		out.SessionID = in.SessionID
	}
	return out, err
}
