package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
)

// viewers are the callers of the table, in the order of its columns, with their keys.
var viewers = []struct{ name, tenant, key string }{
	{"no key", "acme", ""},
	{"runs", "acme", annKey},
	{"runs, some agents", "acme", "ark_some-some-some-some"},
	{"runs, other tenant", "globex", "ark_bob-bob-bob-bob-bob"},
	{"metrics:read", "default", "ark_meter-meter-meter-meter"},
	{"config:read, some agents", "acme", "ark_reader-reader-reader"},
	{"config:read:own", "acme", "ark_owner-owner-owner-owner"},
	{"config:read", "ops", "ark_operator-operator"},
}

// acmeDocument is the overlay of a tenant.
const acmeDocument = `{"document": {"version": 1,
	"agents": {"id-own": {"extends": "clerk", "description": "@", "system_prompt": "@"}},
	"tools": {"id-crm": {"type": "http", "description": "@", "url": "https://@.example", "headers": {"X-H": "${tenant.SECRET}"}}},
	"patches": {"agents": {"clerk": {"description": "@", "system_prompt": "@"}}}}}`

// TestWhoSeesWhichField plants a text in every field, calls every route as every viewer,
// and searches what they get.
func TestWhoSeesWhichField(t *testing.T) {
	withoutOpenTelemetry(t)
	collected := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collected.url)
	c := plantCanaries(t)
	w := newTownOf(t, c.document)
	seen := map[string]map[string]bool{} // the fields that each viewer sees
	note := func(viewer, text string) {
		for _, canary := range c.in(text) {
			if seen[c.fields[canary]] == nil {
				seen[c.fields[canary]] = map[string]bool{}
			}
			seen[c.fields[canary]][viewer] = true
		}
	}
	operator := bearer(viewers[len(viewers)-1].key)
	overlay := c.plantOverlay(t)
	overlayHash := w.publish(t, operator, "/runtime/v1/tenants/acme/revisions", overlay)
	for _, name := range []string{"SECRET", "WORD"} {
		value := c.plant(t, "overlay.variables."+name, "value @").(string) //nolint:forcetypeassert // a text
		if got := w.ask(t, http.MethodPut, "/runtime/v1/tenants/acme/variables/"+name, `{"value":"`+value+`"}`, operator); got.status >= http.StatusBadRequest {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	made := w.make(t, strings.Join(slices.Collect(maps.Keys(makers)), ""))
	requests := w.allRequests(t, operator, overlayHash)
	slices.SortStableFunc(requests, func(a, b string) int { // what changes nothing comes first
		return strings.Compare(b[:1], a[:1])
	})
	for _, v := range viewers {
		header := http.Header{}
		if v.key != "" {
			header = bearer(v.key)
		}
		for _, agent := range []string{"clerk", "other", "id-agent", "far", "borne", "id-own"} {
			for _, text := range w.turnOf(t, agent, header) {
				note(v.name, strings.ReplaceAll(text, agent, ""))
			}
		}
	}
	for _, request := range requests {
		for _, v := range viewers {
			header := http.Header{}
			if v.key != "" {
				header = bearer(v.key)
			}
			agents := []string{"clerk"}
			if strings.Contains(request, "{agent}") {
				agents = []string{"clerk", "other", "id-agent", "far", "borne", "id-own"}
			}
			for _, agent := range agents {
				named := maps.Clone(made)
				named["{agent}"] = agent
				line, body, _ := strings.Cut(named.fill(request, v.tenant), "\n")
				method, path, _ := strings.Cut(line, " ")
				headers := []http.Header{header}
				if strings.Contains(path, "/v0.3") {
					headers = append(headers, http.Header{"A2a-Version": {"0.3"}})
				}
				got := w.ask(t, method, path, body, headers...)
				for _, canary := range c.in(path + body) {
					got.body = strings.ReplaceAll(got.body, canary, "") // the caller knows it
				}
				note(v.name, got.body)
			}
		}
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	note("the log", w.log.String())
	note("telemetry", prototext.Format(&collected.spans)+prototext.Format(&collected.metrics))
	checkExposure(t, slices.Sorted(maps.Values(c.fields)), seen)
	checkExposurePage(t)
}

// plantOverlay returns the overlay with its texts.
func (c *canaries) plantOverlay(t *testing.T) string {
	t.Helper()
	var document any
	if err := json.Unmarshal([]byte(acmeDocument), &document); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(c.plant(t, "overlay", document))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// publish publishes a document for the first time and returns the hash of its revision.
func (w *town) publish(t *testing.T, header http.Header, path, body string) string {
	t.Helper()
	got := w.ask(t, http.MethodPost, path, body, header, http.Header{"If-Match": {`"none"`}})
	var answer struct{ Hash string }
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return answer.Hash
}

// allRequests returns the requests of all routes, and those for every entry and revision.
func (w *town) allRequests(t *testing.T, operator http.Header, overlay string) []string {
	t.Helper()
	var all []string
	for _, row := range rows {
		for _, q := range row.asks {
			all = append(all, q.request)
		}
	}
	get := func(path string, into any) {
		got := w.ask(t, http.MethodGet, path, "", operator)
		if err := json.Unmarshal([]byte(got.body), into); err != nil || got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.status, got.body)
		}
		all = append(all, "GET "+path)
	}
	for _, registry := range []string{"agents", "models", "pools", "tools", "providers", "plugins", "agent_providers", "workflows"} {
		var page map[string]json.RawMessage
		get("/runtime/v1/"+registry+"?limit=1000", &page)
		for _, id := range regexp.MustCompile(`"id":"([^"]+)"`).FindAllStringSubmatch(string(page["items"])+string(page[registry]), -1) {
			all = append(all, "GET /runtime/v1/"+registry+"/"+id[1], "GET /runtime/v1/agents/"+id[1]+"/explain", "GET /runtime/v1/patches/"+registry+"/"+id[1])
		}
	}
	var list map[string][]struct{ Hash string }
	get("/runtime/v1/revisions", &list)
	for _, revision := range list["revisions"] {
		all = append(all, "GET /runtime/v1/revisions/"+revision.Hash, "GET /runtime/v1/revisions/"+revision.Hash+"/diff")
	}
	if len(list["revisions"]) == 0 {
		t.Fatal("there are no revisions")
	}
	for _, path := range []string{"", "/patches", "/patches/agents/clerk", "/revisions/" + overlay, "/revisions/" + overlay + "/diff", "/agents/clerk/explain", "/agents/id-own/explain", "/agents/other/explain"} {
		all = append(all, "GET /runtime/v1/tenants/acme"+path)
	}
	return append(all, "GET /workflow/schedules?limit=1000", "GET /workflow/event-triggers?limit=1000")
}

// turnOf lets an agent work on a turn and returns all that its caller gets of it.
func (w *town) turnOf(t *testing.T, agent string, header http.Header) []string {
	t.Helper()
	session := w.ask(t, http.MethodPost, "/runtime/v1/sessions", fmt.Sprintf(`{"agent_id":%q}`, agent), header)
	if session.status != http.StatusCreated {
		return []string{session.body}
	}
	made := w.ask(t, http.MethodPost, "/runtime/v1/turns", fmt.Sprintf(`{"session_id":%q,"input":[{"role":"user","parts":[{"type":"text","text":"hello"}]}]}`, field(t, session.body, "id")), header)
	all := []string{made.body}
	var turn struct {
		ID        string
		SessionID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(made.body), &turn); err != nil || turn.ID == "" {
		return all
	}
	for _, path := range []string{"/turns/" + turn.ID + "/events", "/turns/" + turn.ID, "/sessions/" + turn.SessionID + "/export", "/sessions/" + turn.SessionID} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.LocalURL()+"/runtime/v1"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		client := http.Client{Timeout: 10 * time.Second}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(body))
	}
	return all
}
