package mcp

import (
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

func TestACallWaitsForAChange(t *testing.T) {
	t.Parallel()
	askingServers(t, []string{featureResources}, func(t *testing.T, s *server) {
		for arguments, want := range map[string]string{
			`{"action":"wait","uri":"doc://a"}`: "content of a",
			`{"action":"wait"}`:                 `"uri":"doc://new"`,
		} {
			results := make(chan tools.Result, 2)
			for range cap(results) {
				go func() { results <- callAs(t, s, new(host), "resources", arguments, nil) }()
			}
			got := 0
			soon(t, arguments+" ends", func() bool {
				succeed(t, s, "touch", `{}`)
				for {
					select {
					case r := <-results:
						if text := model.PartsText(r.Content); !strings.Contains(text, want) {
							t.Errorf("%s says %q", arguments, text)
						}
						got++
					default:
						return got == cap(results)
					}
				}
			})
		}
		open, _, err := s.link.openSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(open.watches.waiting); n != 0 {
			t.Errorf("%d calls still wait", n)
		}
	})
}

func TestNothingChanges(t *testing.T) {
	t.Parallel()
	c := local(t, "asking in sessions")
	c.Features, c.Timeout = []string{featureResources}, duration(400*time.Millisecond)
	s := ready(t, c)
	if got := succeed(t, s, "resources", `{"action":"wait","uri":"doc://a"}`); got != "[no change within 300ms]" {
		t.Errorf("the call says %q", got)
	}
	soon(t, "the subscription ends", func() bool { return strings.Contains(strings.Join(notes(&c), " "), "subscribed unsubscribed") })

	c = local(t, `initialize {"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"x","version":"1"}}`+"\n"+lists("a", "Reads."))
	c.Features = []string{featureResources}
	s = ready(t, c)
	for _, arguments := range []string{`{"action":"wait"}`, `{"action":"wait","uri":"doc://a"}`} {
		if r := call(t.Context(), t, s, "resources", arguments); !r.IsError || !strings.Contains(model.PartsText(r.Content), "read it again") {
			t.Errorf("%s without announcements says %+v", arguments, r)
		}
	}
}

func TestAPartOfAResourceChanges(t *testing.T) {
	t.Parallel()
	for updated, want := range map[string]bool{"file:///a": true, "file:///a/b": true, "file:///ab": false, "file:///": false, "": false} {
		var w watches
		changed := w.add("file:///a")
		w.notify(updated)
		if woken := len(w.waiting) == 0; woken != want {
			t.Errorf("%q wakes the call: %t", updated, woken)
		}
		if last := w.remove(changed, "file:///a"); !last {
			t.Errorf("%q: another call waits", updated)
		}
	}
}
