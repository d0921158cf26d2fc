package agents

import (
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
	return updateState(session, new(decodedState[S]), change)
}

// updateState changes the custom state of a session and caches the decoded value.
func updateState[S any](session tools.Session, decoded *decodedState[S], change func(state *S) error) error {
	return session.UpdateCustom(func(custom json.RawMessage) (json.RawMessage, error) {
		state, err := decoded.take(custom)
		if err != nil {
			return nil, err
		}
		if err := change(&state); err != nil {
			return nil, err
		}
		raw, err := encodeCustom(state)
		if err == nil {
			decoded.put(raw, &state)
		}
		return raw, err
	})
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
