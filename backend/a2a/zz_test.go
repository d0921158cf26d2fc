package a2abackend_test

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/a2ajs"
)

func TestZZ(t *testing.T) {
	forEachPeer(t, a2ajs.ServerOptions{Streaming: true}, func(t *testing.T, p peer) {
		kept := keep(t)
		first := p.serve(t, kept)
		turn := says(t, first, "hold 2")
		task := p.Await("holding", nil).TaskID
		first.Close()
		second := p.serve(t, kept)
		p.Release(task)
		for range 16 {
			time.Sleep(500 * time.Millisecond)
			tt, err := second.GetTurn(t.Context(), alice, turn.ID)
			t.Log(tt.Status, tt.Seq, tt.Worker, tt.Outcome, err)
			if tt.Outcome != nil {
				break
			}
		}
		for r, err := range second.Events(t.Context(), alice, turn.ID, 0) {
			t.Log(r.Seq, r.Type, string(r.Data), err)
			if r.Seq > 12 {
				break
			}
		}
	})
}
