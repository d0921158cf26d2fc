package native

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

func TestRequestsToModelsAreForReadersOfTheConfiguration(t *testing.T) {
	w := serving(t, func(s *service.Settings, _ *server.SurfaceSettings) { s.KeepRequests = true })
	alice := w.client("alice")
	turn := begin(t, alice, "boss", "hello")
	followed(t, alice, turn.ID, 0)
	message := ""
	for record, err := range w.service.Events(t.Context(), service.Operator(), turn.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := record.Event()
		if err != nil {
			t.Fatal(err)
		}
		if step, ok := ev.Data.(*event.StepStart); ok {
			message = step.MessageID
		}
	}
	reader := service.Caller{Tenant: "acme", Subject: "alice", Scopes: []string{settings.ScopeRunsRead, settings.ScopeConfigRead}}
	list, err := (&Local{Service: w.service, Caller: reader}).ListModelRequests(t.Context(), turn.ID, message)
	if err != nil || len(list.Requests) != 1 || list.Requests[0].AgentID != "boss" || !strings.Contains(string(list.Requests[0].Request), `"text":"hello"`) {
		t.Errorf("got %+v, %v", list, err)
	}
	reader.Scopes = []string{settings.ScopeRunsRead}
	if list, err := (&Local{Service: w.service, Caller: reader}).ListModelRequests(t.Context(), turn.ID, message); err != nil || len(list.Requests) > 0 {
		t.Errorf("a caller without config:read gets %+v, %v", list, err)
	}
}
