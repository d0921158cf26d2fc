package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/native"
)

// TestAProgramServesItsAgents starts the program, creates a turn through its mux, and restarts it:
// the turn still exists.
func TestAProgramServesItsAgents(t *testing.T) {
	database := filepath.Join(t.TempDir(), "embed.db")
	url, end := startProgram(t, database)
	if got := get(t, url+"/"); got != "the shop\n" {
		t.Errorf("the program's own route answers %q", got)
	}
	if card := get(t, url+"/agents/a2a/support/.well-known/agent-card.json"); !strings.Contains(card, url+"/agents/a2a/support") {
		t.Errorf("the card does not name the address of the agent: %s", card)
	}
	client := newClient(t, url)
	session, err := client.CreateSession(t.Context(), native.CreateSession{AgentID: "support"})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := client.CreateTurn(t.Context(), native.CreateTurn{SessionID: session.ID, Input: []model.Message{model.User("Where is my order?")}})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for record, err := range client.Events(t.Context(), turn.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, string(record.Type))
	}
	if all := strings.Join(seen, " "); !strings.Contains(all, "tool_call_done") || !strings.HasSuffix(all, "run_finish") {
		t.Errorf("the turn has the events %s", all)
	}
	end()

	url, end = startProgram(t, database)
	defer end()
	kept, err := newClient(t, url).GetTurn(t.Context(), turn.ID)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Outcome == nil || kept.Outcome.Response != "Your order has been shipped." {
		t.Errorf("the turn that was kept has the outcome %+v", kept.Outcome)
	}
}

// startProgram serves on a free port. end stops the program with SIGTERM.
func startProgram(t *testing.T, database string) (url string, end func()) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, database) }()
	return "http://" + listener.Addr().String(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func newClient(t *testing.T, url string) *native.Client {
	t.Helper()
	c, err := native.NewClient(native.ClientSettings{URL: url + "/agents"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
