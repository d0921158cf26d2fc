package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

func TestAServerThatIsVisited(t *testing.T) {
	t.Chdir(t.TempDir())
	var token atomic.Value
	p := newPeer(t, func(r *http.Request) int {
		token.Store(r.Header.Get("X-Token"))
		return 0
	})
	visit := &Visit{Name: "guest", URL: p.URL, Headers: map[string]string{"X-Token": "letmein-please"}, Tools: []string{"echo", "no*", "gone"}, AllowPrivate: []string{"127.0.0.1"}}
	members, release, err := visit.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if len(members) != 1 || members[0].ID != "guest_echo" || token.Load() != "letmein-please" {
		t.Fatalf("it has %+v and was told %q", members, token.Load())
	}
	entry, found := toolset.Compile(members[0].ID, members[0].Tool, toolset.Source{Kind: toolset.SourceTurn})
	if entry == nil {
		t.Fatal(found)
	}
	result := entry.Execute(t.Context(), &tools.Call{Arguments: json.RawMessage(`{"text":"hi"}`), Host: new(host)})
	if text := model.PartsText(result.Content); result.IsError || !strings.Contains(text, "hi") {
		t.Errorf("it says %q", text)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 0 {
		t.Errorf("%v is kept, %v", left, err)
	}
}

func TestAllToolsOfAServerThatIsVisited(t *testing.T) {
	p := newPeer(t, nil)
	name := strings.Repeat("n", 64)
	members, release, err := (&Visit{Name: name, URL: p.URL, AllowPrivate: []string{"127.0.0.1"}}).Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, m := range members {
		if len(m.ID) > 64 || !strings.HasPrefix(m.ID, name[:40]) {
			t.Errorf("one is called %s", m.ID)
		}
	}
	if len(members) < 2 {
		t.Errorf("it has %d tools", len(members))
	}
}

func TestPrivateAddressesAreNotVisited(t *testing.T) {
	var asked atomic.Int64
	p := newPeer(t, func(*http.Request) int { asked.Add(1); return 0 })
	_, _, err := (&Visit{Name: "guest", URL: p.URL}).Members(t.Context())
	if blocked := new(netguard.BlockedError); !errors.As(err, &blocked) && !strings.Contains(errorText(err), "127.0.0.1") || asked.Load() != 0 {
		t.Errorf("it was asked %d times: %v", asked.Load(), err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAVisitThatCannotBegin(t *testing.T) {
	for name, v := range map[string]*Visit{
		"no URL":        {Name: "guest"},
		"another way":   {Name: "guest", URL: "ftp://x.example"},
		"a header":      {Name: "guest", URL: "https://x.example", Headers: map[string]string{"Host": "evil"}},
		"an allow list": {Name: "guest", URL: "https://x.example", AllowPrivate: []string{"*"}},
	} {
		members, release, err := v.Members(t.Context())
		if visited := new(Error); !errors.As(err, &visited) || visited.Server != "guest" || members != nil || release != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := newPeer(t, nil)
	if _, _, err := (&Visit{Name: "guest", URL: p.URL, AllowPrivate: []string{"127.0.0.1"}}).Members(ctx); err == nil {
		t.Error("a visit begins whose context has ended")
	}
}

func TestNamesThatLookLikeGlobsAreNames(t *testing.T) {
	s, err := (&Visit{Name: "guest", URL: "https://x.example", Tools: []string{"a*", "b?", "[c]", "{d,e}", `f\`, "g!^-"}}).buildServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.link.close()
	var passed []string
	for _, name := range []string{"a*", "ax", "b?", "bx", "[c]", "c", "{d,e}", "d", `f\`, "f", "g!^-"} {
		if s.filter.allowsTool(name) {
			passed = append(passed, name)
		}
	}
	if !slices.Equal(passed, []string{"a*", "b?", "[c]", "{d,e}", `f\`, "g!^-"}) {
		t.Errorf("%q pass", passed)
	}
}
