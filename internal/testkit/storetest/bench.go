package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// BenchmarkRunPages lists 50 of 100,000 ended workflow runs, page by page. end ends all runs in the
// store; nil if runs are stored with the given status.
func BenchmarkRunPages(b *testing.B, s store.Store, end func()) {
	const count, batch = 100_000, 1000
	began := time.Now().Add(-time.Hour)
	for from := 0; from < count; from += batch {
		var runs []*store.WorkflowRun
		for i := from; i < from+batch; i++ {
			r := &store.WorkflowRun{
				ID: fmt.Sprint("event:", i), WorkflowID: fmt.Sprint("w", i%10), Owner: store.Owner{Tenant: "acme", Subject: "workflow"}, Shared: i%2 == 0,
				Status: store.RunSucceeded, Trigger: []byte(`{"kind":"event","id":"w","event":{"id":"e","type":"x"}}`), State: []byte(`{"at":1,"steps":[]}`),
				Definition: []byte(`{"steps":[]}`), CreatedAt: began, UpdatedAt: began, StartedAt: began, FinishedAt: began,
			}
			if i%100 == 0 {
				r.Status = store.RunFailed
			}
			runs = append(runs, r)
		}
		if _, err := s.CreateRuns(b.Context(), runs, nil); err != nil {
			b.Fatal(err)
		}
	}
	if end != nil {
		end()
	}
	member := store.RunScope{Owner: store.Owner{Tenant: "acme", Subject: "ann"}}
	for _, list := range []struct {
		name string
		q    store.RunQuery
	}{
		{"OfEverybody", store.RunQuery{Scope: store.RunScope{All: true}}},
		{"OfATenant", store.RunQuery{Scope: member}},
		{"OfAWorkflow", store.RunQuery{Scope: member, WorkflowID: "w4"}},
		{"ThatFailed", store.RunQuery{Scope: member, Status: store.RunFailed}},
		{"OfAWorkflowThatFailed", store.RunQuery{Scope: member, WorkflowID: "w0", Status: store.RunFailed}},
	} {
		b.Run(list.name, func(b *testing.B) {
			q := list.q
			b.ReportAllocs()
			for b.Loop() {
				page, err := s.ListRuns(b.Context(), q)
				if err != nil || len(page.Runs) != store.DefaultPage {
					b.Fatal(len(page.Runs), err)
				}
				q.Page.After = page.Next
			}
		})
	}
}
