package native

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func (w *world) usage(t *testing.T, who, query string) (list usageList) {
	t.Helper()
	status, body := w.answerTo("GET /usage"+query, "", "Authorization", "Bearer "+who)
	if status != 200 {
		t.Fatalf("%s: %d %s", query, status, body)
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestUsageIsGroupedAndOfOneTenant(t *testing.T) {
	w := serving(t)
	for _, name := range []string{"alice", "bob", "eve"} {
		c := w.client(name)
		followed(t, c, begin(t, c, "clerk", "one").ID, 0)
	}
	for name, turns := range map[string]int64{"alice": 2, "bob": 2, "eve": 1} {
		list := w.usage(t, name, "?group_by=agent&group_by=model&group_by=tenant&group_by=hour")
		if len(list.Groups) != 1 || list.Total != 1 {
			t.Fatalf("%s: %+v", name, list)
		}
		g := list.Groups[0]
		if g.Turns != turns || g.Usage.Input != 10*int(turns) || g.AgentID != "clerk" || g.ModelID == "" || g.Latency == nil || !g.Hour.Equal(g.Hour.Truncate(time.Hour)) {
			t.Errorf("%s sees %+v", name, g)
		}
	}
	for query, groups := range map[string]int{
		"": 1, "?tenant=acme": 1, "?tenant=other": 0, "?agent_id=boss": 0, "?model_id=none": 0, "?limit=1&group_by=agent": 1,
		"?from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z": 0,
	} {
		if list := w.usage(t, "alice", query); len(list.Groups) != groups {
			t.Errorf("%s: %+v", query, list)
		}
	}
	for query, field := range map[string]string{
		"?from=yesterday": "from", "?to=1": "to", "?group_by=color": "group_by", "?limit=0": "limit", "?limit=10001": "limit", "?by=agent": "by",
		"?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "from", "?tenant=a&tenant=b": "tenant",
	} {
		if status, body := w.answerTo("GET /usage"+query, "", "Authorization", "Bearer alice"); status != 400 || !strings.Contains(body, field) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	for _, name := range []string{"ann", "joe"} { // a key for one agent, and one without scopes
		if status, body := w.answerTo("GET /usage", "", "Authorization", "Bearer "+name); status != 403 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}
