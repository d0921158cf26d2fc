package native

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

// turnsOf returns the ids of all turns of a query, in pages of a size.
func turnsOf(t *testing.T, c *Client, q TurnQuery, limit int) (ids []string) {
	t.Helper()
	q.Page.Limit = limit
	for {
		list, err := c.ListTurns(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Turns) > limit {
			t.Fatalf("a page of %d turns has %d", limit, len(list.Turns))
		}
		for i := range list.Turns {
			ids = append(ids, list.Turns[i].ID)
		}
		if q.Page.After = list.Next; list.Next == "" {
			return ids
		}
	}
}

func TestTurnsAreFoundByTheirFields(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	create := func(agent, text, labels, metadata string) string {
		s, err := c.CreateSession(t.Context(), CreateSession{AgentID: agent, Labels: map[string]string{"team": labels}})
		if err != nil {
			t.Fatal(err)
		}
		req := says(s.ID, text)
		req.Metadata = json.RawMessage(metadata)
		turn, err := c.CreateTurn(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return turn.ID
	}
	hello := create("clerk", "Hello World", "blue", `{"ticket":"T-\"1\"","headers":{"Authorization":"hush"}}`)
	long := create("boss", "one two three four five six seven eight", "blue", `{"ticket":["T-2"]}`)
	waits := create("clerk", "pay", "red", `{}`)
	hangs := create("boss", "hang", "red", `{}`)
	until(t, c, hello, store.Succeeded)
	until(t, c, long, store.Succeeded)
	until(t, c, waits, store.Waiting)
	until(t, c, hangs, store.Running)
	all := []string{hangs, waits, long, hello}
	for name, tt := range map[string]struct {
		q    TurnQuery
		want []string
	}{
		"nothing":                   {TurnQuery{}, all},
		"own tenant":                {TurnQuery{Tenant: "acme"}, all},
		"another tenant":            {TurnQuery{Tenant: "other"}, nil},
		"label":                     {TurnQuery{Labels: map[string]string{"team": "blue"}}, []string{long, hello}},
		"unknown label":             {TurnQuery{Labels: map[string]string{"team": "green"}}, nil},
		"id":                        {TurnQuery{Text: long}, []string{long}},
		"answer in another case":    {TurnQuery{Text: "hELLO w"}, []string{hello}},
		"question":                  {TurnQuery{Text: "wants to call tool pay"}, []string{waits}},
		"metadata":                  {TurnQuery{Text: "t-2"}, []string{long}},
		"metadata with a quote":     {TurnQuery{Text: `T-"1"`}, []string{hello}},
		"a header, which is hidden": {TurnQuery{Text: "hush"}, nil},
		"cost":                      {TurnQuery{MinCost: 0.001}, []string{long, hello}},
		"more than anything cost":   {TurnQuery{MinCost: 1000}, nil},
		"a short time":              {TurnQuery{MinDuration: time.Microsecond, Statuses: []store.Status{store.Running}}, []string{hangs}},
		"a long time":               {TurnQuery{MinDuration: time.Hour}, nil},
		"several":                   {TurnQuery{Text: "five", MinCost: 0.001, AgentID: "boss", Labels: map[string]string{"team": "blue"}}, []string{long}},
	} {
		for _, limit := range []int{1, 2, 50} {
			if got := turnsOf(t, c, tt.q, limit); !slices.Equal(got, tt.want) {
				t.Errorf("%s in pages of %d: %v, not %v", name, limit, got, tt.want)
			}
		}
	}
	if _, err := c.CancelTurn(t.Context(), hangs, ""); err != nil {
		t.Fatal(err)
	}
}

// TestASearchLooksAtABoundedNumberOfTurns has an old turn that is the only one that matches.
func TestASearchLooksAtABoundedNumberOfTurns(t *testing.T) {
	kept := memory.New(store.Settings{})
	t.Cleanup(func() { _ = kept.Close() })
	w := serving(t, func(s *service.Settings, _ *server.SurfaceSettings) { s.Store = kept })
	c := w.client("alice")
	old := begin(t, c, "clerk", "needle")
	until(t, c, old.ID, store.Succeeded)
	now := time.Now()
	for i := range 4500 {
		n := store.NewTurn{Turn: store.Turn{
			ID: fmt.Sprintf("t%05d", i), SessionID: old.SessionID, Owner: store.Owner{Tenant: "acme", Subject: "alice"}, AgentID: "clerk",
			Request: []byte("{}"), CreatedAt: now.Add(time.Duration(i) * time.Microsecond), NotBefore: now.Add(time.Hour),
		}}
		if _, err := kept.CreateTurn(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int
	q := TurnQuery{Text: "needle"}
	for {
		list, err := c.ListTurns(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(list.Turns))
		if q.Page.After = list.Next; list.Next == "" {
			break
		}
	}
	if !slices.Equal(sizes, []int{0, 0, 1}) {
		t.Errorf("the pages have %v turns", sizes)
	}
}

func TestPendingInteractionsOfAllTurnsAreListed(t *testing.T) {
	w := serving(t)
	alice := w.client("alice")
	first, second := begin(t, alice, "clerk", "pay"), begin(t, alice, "clerk", "pay")
	until(t, alice, first.ID, store.Waiting)
	until(t, alice, second.ID, store.Waiting)
	list := func(name, query string) (found []Interaction) {
		local := Local{Service: w.service, Caller: service.Caller{Tenant: "acme", Subject: name}}
		if name == "ann" {
			local.Caller.Subject, local.Caller.Agents = "alice", service.NewAgentSet([]string{"boss"})
		}
		found, err := local.ListPendingInteractions(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := w.answerTo("GET /interactions"+query, ""); status != 200 {
			t.Errorf("%d %s", status, body)
		}
		return found
	}
	got := list("alice", "?limit=1")
	if len(got) != 2 || got[0].AgentID != "clerk" || got[0].TurnID != first.ID && got[0].TurnID != second.ID || got[0].Request.Tool != "pay" {
		t.Errorf("alice sees %+v", got)
	}
	for _, name := range []string{"bob", "ann"} {
		if got := list(name, ""); len(got) != 0 {
			t.Errorf("%s sees %+v", name, got)
		}
	}
	if _, err := alice.CancelTurn(t.Context(), first.ID, ""); err != nil {
		t.Fatal(err)
	}
	if got := list("alice", ""); len(got) != 1 || got[0].TurnID != second.ID {
		t.Errorf("after one was canceled: %+v", got)
	}
}
