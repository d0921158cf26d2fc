package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

var (
	// lasting are the persistent messages by key, which later requests also contain.
	lasting = plugins.NewKey[map[string]plugins.ContextMessage]("runtime.context_messages", plugins.ScopeRun)
	// sent is when each message with a cooldown was last sent, by key.
	sent = plugins.NewKey[map[string]sending]("runtime.context_throttle", plugins.ScopeRun)
)

// sending is the last send of a message with a cooldown.
type sending struct {
	Step     int    `json:"step"`
	Cooldown int    `json:"cooldown"`
	Digest   string `json:"digest"`
}

// coolsDown reports whether a message with the same text must wait. It need not in the step that
// sent it, where it replaces itself.
func (s *sending) coolsDown(step int) bool { return step > s.Step && step-s.Step <= s.Cooldown }

// addLasting adds the persistent messages. It runs before the actions, which may replace or remove
// them.
func addLasting(_ context.Context, p *plugins.PhaseContext) error {
	kept := lasting.Get(p)
	if len(kept) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		sendMessage(p, kept[key])
	}
	return nil
}

func addContext(_ context.Context, p *plugins.PhaseContext, m plugins.ContextMessage) error {
	if err := checkContext(&m); err != nil {
		return err
	}
	removeMessage(p, m.Key)
	if m.Persistent || m.ConsumeAfterEmit {
		lasting.Update(p, withEntry(m.Key, m))
	}
	sendMessage(p, m)
	return nil
}

// checkContext rejects a message that could not be sent or found again.
func checkContext(m *plugins.ContextMessage) error {
	switch m.Role {
	case "", model.RoleSystem, model.RoleUser, model.RoleAssistant:
	default:
		return fmt.Errorf("a context message cannot have the role %q", m.Role)
	}
	switch m.Target {
	case "", plugins.TargetSystem, plugins.TargetSession, plugins.TargetConversation, plugins.TargetSuffix:
	default:
		return fmt.Errorf("a context message cannot have the target %q", m.Target)
	}
	if m.Key == "" && (m.Persistent || m.ConsumeAfterEmit || m.CooldownTurns > 0) {
		return errors.New("a context message that is kept or has a cooldown needs a key")
	}
	return nil
}

func removeContext(_ context.Context, p *plugins.PhaseContext, key string) error {
	removeMessage(p, key)
	return nil
}

// removeMessage removes a message from the next request and all later ones.
func removeMessage(p *plugins.PhaseContext, key string) {
	p.Request().RemoveContext(key)
	if _, kept := lasting.Get(p)[key]; kept {
		lasting.Update(p, withoutEntry[plugins.ContextMessage](key))
	}
}

// sendMessage adds a message to the next request, unless it is cooling down.
func sendMessage(p *plugins.PhaseContext, m plugins.ContextMessage) {
	if m.CooldownTurns > 0 && !isReady(p, &m) {
		return
	}
	p.Request().AddContext(m)
	if m.ConsumeAfterEmit {
		lasting.Update(p, withoutEntry[plugins.ContextMessage](m.Key))
	}
}

// isReady reports whether a message with a cooldown may be sent now, and if so records it.
func isReady(p *plugins.PhaseContext, m *plugins.ContextMessage) bool {
	step, now := p.Stats.Steps, digestOf(m.Text)
	all := sent.Get(p)
	if last, ok := all[m.Key]; ok && last.Digest == now && last.coolsDown(step) {
		return false
	}
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(_ string, s sending) bool { return step-s.Step > s.Cooldown })
	if all == nil {
		all = make(map[string]sending, 1)
	}
	all[m.Key] = sending{Step: step, Cooldown: m.CooldownTurns, Digest: now}
	sent.Set(p, all)
	return true
}

// withEntry and without return functions that copy a map with one entry changed.
func withEntry[V any](key string, v V) func(map[string]V) map[string]V {
	return func(m map[string]V) map[string]V {
		m = maps.Clone(m)
		if m == nil {
			m = make(map[string]V, 1)
		}
		m[key] = v
		return m
	}
}

func withoutEntry[V any](key string) func(map[string]V) map[string]V {
	return func(m map[string]V) map[string]V {
		m = maps.Clone(m)
		delete(m, key)
		return m
	}
}
