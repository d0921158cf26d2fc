// Package storetest provides the tests that every store.Store must pass. An implementation runs
// them against itself.
package storetest

import (
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/store"
)

// Run checks that a store fulfills its contract. open returns a store without records, which no
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
