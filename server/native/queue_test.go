package native

import (
	"testing"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

func TestTheQueueCountsTurnsOfAllTenants(t *testing.T) {
	w := serving(t)
	alice, eve := w.client("alice"), w.client("eve")
	waits, runs := begin(t, alice, "clerk", "pay"), begin(t, eve, "boss", "hang")
	until(t, alice, waits.ID, store.Waiting)
	until(t, eve, runs.ID, store.Running)
	done := begin(t, alice, "clerk", "hello")
	until(t, alice, done.ID, store.Succeeded)
	reader := service.Caller{Tenant: "acme", Subject: "alice", Scopes: []string{settings.ScopeMetricsRead}}
	q, err := w.service.ReadQueue(t.Context(), reader)
	if err != nil || q.Pending != 0 || q.Running != 1 || q.Waiting != 1 || len(q.Workers) != 1 || q.Workers[0].ID != w.service.Worker() || q.Workers[0].Turns != 1 {
		t.Errorf("%+v, %v", q, err)
	}
	if q, err := w.service.ReadQueue(t.Context(), service.Caller{Tenant: "acme", Subject: "alice", Scopes: []string{}}); err != nil || q.Running+q.Waiting+len(q.Workers) != 0 {
		t.Errorf("a caller without the scope sees %+v, %v", q, err)
	}
	if status, _ := w.answerTo("GET /queue", "", "Authorization", "Bearer joe"); status != 403 {
		t.Errorf("a request without the scope is answered with %d", status)
	}
	if _, err := eve.CancelTurn(t.Context(), runs.ID, ""); err != nil {
		t.Fatal(err)
	}
}
