package plugins

import (
	"context"
	"encoding/json"
	"fmt"
)

// HandleAction adds the handler of an action whose payload is a T, or decodes to one if the turn
// was suspended while the action waited. An action with another payload becomes a DeadLetter.
func HandleAction[T any](r *Registrar, key string, phase Phase, handler func(ctx context.Context, p *PhaseContext, payload T) error) {
	r.ActionHandler(key, phase, HandlerOf(handler))
}

// HandlerOf converts a handler like HandleAction, for a plugin that creates its handlers once
// instead of at every Register. It returns nil for nil.
func HandlerOf[T any](handler func(ctx context.Context, p *PhaseContext, payload T) error) ActionHandler {
	if handler == nil {
		return nil
	}
	return func(ctx context.Context, p *PhaseContext, payload any) error {
		v, err := payloadOf[T](payload)
		if err != nil {
			return err
		}
		return handler(ctx, p, v)
	}
}

// HandleEffect adds the handler of an effect whose payload is a T. An effect with another payload
// becomes a DeadLetter.
func HandleEffect[T any](r *Registrar, key string, handler func(ctx context.Context, payload T) error) {
	if handler == nil {
		r.EffectHandler(key, nil)
		return
	}
	r.EffectHandler(key, func(ctx context.Context, payload any) error {
		v, err := payloadOf[T](payload)
		if err != nil {
			return err
		}
		return handler(ctx, v)
	})
}

// payloadOf returns a scheduled or restored payload.
func payloadOf[T any](payload any) (v T, err error) {
	if v, ok := payload.(T); ok {
		return v, nil
	}
	raw, ok := payload.(json.RawMessage)
	if !ok {
		return v, fmt.Errorf("the payload is a %T, want %T", payload, v)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("the payload is not a %T: %w", v, err)
	}
	return v, nil
}
