// Package storetest provides the tests that every store.Store must pass. An implementation runs
// them against itself.
package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// patience is how long a test waits for something that must happen. It is long, so that on a busy
// machine only what never happens fails.
const patience = 30 * time.Second

// test is one requirement for a store.
type test struct {
	name string
	run  func(f *fixture)
	// settings are passed to open.
	settings store.Settings
}

// Run checks that a store fulfils its contract. open returns a store without records, which no
// other test uses, with the limits of the settings; open chooses where its records are. It also
// ensures that the store is closed when its test has ended; the test may have closed it before.
func Run(t *testing.T, open func(t *testing.T, s store.Settings) store.Store) {
	for _, subject := range []struct {
		name  string
		tests []test
	}{
		{"Sessions", sessionTests},
		{"Lists", listTests},
		{"Turns", turnTests},
		{"Changes", changeTests},
		{"Keys", keyTests},
		{"Scope", scopeTests},
		{"Admission", admissionTests},
		{"Tenants", tenantTests},
		{"Delay", delayTests},
		{"Claim", claimTests},
		{"Start", startTests},
		{"Commit", commitTests},
		{"Fence", fenceTests},
		{"Suspend", suspendTests},
		{"Interactions", interactionTests},
		{"End", endTests},
		{"Leases", leaseTests},
		{"Replicas", replicaTests},
		{"Snapshots", snapshotTests},
		{"Artifacts", artifactTests},
		{"Prune", pruneTests},
		{"Webhooks", webhookTests},
		{"WebhookClaims", webhookClaimTests},
		{"Revocations", revocationTests},
		{"Revisions", revisionTests},
		{"TenantVariables", tenantVariableTests},
		{"Feedback", feedbackTests},
		{"ModelRequests", modelRequestTests},
		{"Usage", usageTests},
		{"Workflows", workflowTests},
		{"Concurrency", concurrencyTests},
		{"Life", lifeTests},
		{"Texts", textTests},
	} {
		t.Run(subject.name, func(t *testing.T) {
			for _, test := range subject.tests {
				t.Run(test.name, func(t *testing.T) { test.run(newFixture(t, open(t, test.settings))) })
			}
		})
	}
}

// RunModel performs random operations on a store and on a simple model of it, and compares them.
// open is as for Run.
func RunModel(t *testing.T, open func(t *testing.T, s store.Settings) store.Store) {
	for _, room := range []int{0, 2} {
		t.Run(fmt.Sprintf("Room%d", room), func(t *testing.T) {
			checkModel(t, open(t, store.Settings{TenantTurns: room}), room)
		})
	}
	t.Run("Webhooks", func(t *testing.T) { checkWebhookModel(t, open(t, store.Settings{})) })
}

// fixture is a store with a queue, for one test.
type fixture struct {
	*testing.T
	store.Store
	queue *Queue
	// now is the time in the test. It is recent, because stores use their own clock for leases.
	now time.Time
}

func newFixture(t *testing.T, s store.Store) *fixture {
	f := &fixture{T: t, Store: s, queue: new(Queue), now: time.Now().UTC().Truncate(time.Microsecond)}
	s.Attach(f.queue)
	return f
}

// wantJobs checks that the queue has received exactly these turns since the last call, in any
// order.
func (f *fixture) wantJobs(want ...string) {
	f.Helper()
	got := f.queue.Take()
	ids := make([]string, len(got))
	for i, j := range got {
		ids[i] = j.TurnID
	}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		f.Fatalf("the queue was told of the turns %q, want %q", ids, want)
	}
}

// eventually polls a condition until it holds.
func (f *fixture) eventually(what string, holds func() bool) {
	f.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !holds(); {
		select {
		case <-tick.C:
		case <-late:
			f.Fatalf("%s: it did not happen", what)
		}
	}
}
