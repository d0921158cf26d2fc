package work

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"go.uber.org/zap"
)

const (
	// memoryInterval is how often memory is measured, and memoryPause how long a failed turn has to
	// release its memory before another one is failed.
	memoryInterval = 100 * time.Millisecond
	memoryPause    = time.Second
	// similarBytes is the difference below which two turns count as equally large.
	similarBytes = 1 << 20
)

// WatchMemory fails turns, one after the other, while the process uses more memory than its limit,
// until ctx ends. Go cannot attribute memory to turns, so the victim is a guess: a turn whose
// process died before, else the one with the largest conversation, else the newest.
func (p *Pool) WatchMemory(ctx context.Context) {
	again := time.NewTicker(memoryInterval)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		if usedMemory() <= p.settings.MemoryLimit {
			continue
		}
		debug.FreeOSMemory()
		if used := usedMemory(); used > p.settings.MemoryLimit {
			p.failLargest(ctx, used)
		}
		again.Reset(memoryPause)
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		again.Reset(memoryInterval)
	}
}

// usedMemory returns how many bytes of memory the Go runtime has obtained from the system.
func usedMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64()) //nolint:gosec // far below 2^63
}

// failLargest fails the turn that most likely uses too much memory.
func (p *Pool) failLargest(ctx context.Context, used int64) {
	h := p.largestTurn()
	if h == nil {
		p.settings.Logger.Warn("memory limit exceeded while no turn runs", zap.Int64("bytes", used), zap.Int64("limit", p.settings.MemoryLimit))
		return
	}
	why := event.Termination{Type: event.Failed, Code: CodeMemory, Detail: fmt.Sprintf("the process used %d MB of memory; at most %d are allowed", used>>20, p.settings.MemoryLimit>>20)}
	p.settings.Logger.Warn("turn failed", zap.String("turn_id", h.turn.ID), zap.String("session_id", h.turn.SessionID), zap.String("agent", h.turn.AgentID),
		zap.String("code", why.Code), zap.String("detail", why.Detail))
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if err := p.settings.End(ctx, h.turn.ID, why); err != nil {
		p.logError(ctx, "failing turn over the memory limit failed", err, zap.String("turn_id", h.turn.ID))
	}
}

// largestTurn returns the turn to fail next when memory runs out, or nil. It returns each turn
// once.
func (p *Pool) largestTurn() *heldTurn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var largest *heldTurn
	for _, h := range p.held {
		if !h.failed && (largest == nil || compareMemory(h, largest) > 0) {
			largest = h
		}
	}
	if largest != nil {
		largest.failed = true
	}
	return largest
}

// compareMemory orders turns by how likely they are to use too much memory.
func compareMemory(a, b *heldTurn) int {
	return cmp.Or(cmp.Compare(min(a.turn.Strikes, 1), min(b.turn.Strikes, 1)), cmp.Compare(a.bytes/similarBytes, b.bytes/similarBytes), a.since.Compare(b.since))
}

// noteBytes records the size of a turn's conversation.
func (p *Pool) noteBytes(turnID string, conversation ...[][]byte) {
	n := 0
	for _, message := range slices.Concat(conversation...) {
		n += len(message)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[turnID]; h != nil {
		h.bytes = n
	}
}
