package fleet_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store"
)

// A waiting turn is approved at another replica, which has switched to a newer revision or missed
// it. The turn continues as it began.
func TestAReplicaGoesOnWithAnApprovedTurn(t *testing.T) {
	for name, text := range map[string]string{"another prompt": newConfig, "no agent": withoutClerk, "no model": withoutModel} {
		for replica, follows := range map[string]bool{"that follows": true, "that missed the notification": false} {
			t.Run(name+", at a replica "+replica, func(t *testing.T) {
				p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce()}
				one, other := p.start(t, oldConfig), p.start(t, oldConfig)
				began := one.runtime.Revision().Hash()
				id := one.wait("clerk")
				if _, err := one.change(text); err != nil {
					t.Fatal(err)
				}
				one.stop()
				number := uint64(1)
				if follows {
					number = 2
					other.follow()
					other.fleet.Heard([]string{fleet.NotifyID})
					other.until("the replica follows", func() bool { return other.fleet.Running().Number == 2 })
				}
				turn := other.approve(id)
				if turn.Status != store.Succeeded || turn.Revision != began || other.prompts() != "old, old" {
					t.Errorf("the turn is %s in revision %q with the prompts %s: %+v", turn.Status, turn.Revision, other.prompts(), turn.Outcome)
				}
				if n := other.fleet.Running().Number; n != number {
					t.Errorf("the replica runs revision %d, want %d", n, number)
				}
			})
		}
	}
}

// A waiting turn continues in its original revision after that revision was rolled back, and when
// it is current again.
func TestATurnOutlivesARollback(t *testing.T) {
	for name, prompt := range map[string]string{"begun before": "old", "begun in between": "new"} {
		t.Run(name, func(t *testing.T) {
			p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce()}
			one := p.start(t, oldConfig)
			first := one.fleet.Running().Hash
			var id string
			if prompt == "old" {
				id = one.wait("clerk")
			}
			out, err := one.change(newConfig)
			if err != nil {
				t.Fatal(err)
			}
			if prompt == "new" {
				id = one.wait("clerk")
			}
			back, err := one.fleet.Rollback(t.Context(), first, &fleet.Change{Expected: out.Hash, Author: "ann"})
			if err != nil || back.Hash != first || one.promptOf("clerk") != "old" {
				t.Fatalf("rolled back to %+v: %v", back, err)
			}
			one.stop()
			next := p.start(t, withoutClerk)
			if turn := next.approve(id); turn.Status != store.Succeeded || next.prompts() != prompt+", "+prompt {
				t.Errorf("the turn is %s with the prompts %s: %+v", turn.Status, next.prompts(), turn.Outcome)
			}
		})
	}
}
