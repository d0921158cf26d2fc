package cli

import (
	"bytes"
	"context"
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

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

// viewers are the callers in the table, in column order, with their keys.
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

// acmeDocument is a tenant's overlay.
const acmeDocument = `{"document": {"version": 1,
	"agents": {"id-own": {"extends": "clerk", "description": "@", "system_prompt": "@"}},
	"tools": {"id-crm": {"type": "http", "description": "@", "url": "https://@.example", "headers": {"X-H": "${tenant.SECRET}"}}},
	"patches": {"agents": {"clerk": {"description": "@", "system_prompt": "@"}}}}}`

// TestWhoSeesWhichField plants a text in every field, calls every route as every viewer, and
// searches the responses.
func TestWhoSeesWhichField(t *testing.T) {
	withoutOpenTelemetry(t)
	collected := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collected.url)
	c := plantCanaries(t)
	peer := peertest.NewScript(t, map[string][]peertest.Reply{
		peertest.MethodStream: {peertest.StreamOf(peertest.Task(a2a.TaskStateWorking, ""), peertest.Words("hi"), peertest.Turned(a2a.TaskStateCompleted, ""))},
	})
	peerURL := []string{"http://peer.invalid", peer.URL}
	w := newTownOf(t, c.document, peerURL...)
	seen := map[string]map[string]bool{} // the fields seen by each viewer
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
	slices.SortStableFunc(requests, func(a, b string) int { // read-only requests first
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
	w.callAllMethods(t, c, made, note)
	w.readMCP(t, note)
	w.runAllCommands(t, c, note)
	for _, call := range peer.Got(peertest.MethodStream) {
		note("the peer", fmt.Sprint(string(call.Params), call.Header))
	}
	for _, request := range peer.Seen() {
		note("the peer", request.URL.String())
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	note("the log", w.log.String())
	note("telemetry", prototext.Format(&collected.spans)+prototext.Format(&collected.metrics))
	checkExposure(t, slices.Sorted(maps.Values(c.fields)), seen)
	checkExposurePage(t)
	t.Run("no command on the file prints a secret", func(t *testing.T) {
		runFileCommands(t, strings.NewReplacer(peerURL...).Replace(c.document), c)
	})
}

// TestPublicURLsMustNotHoldSecrets covers every URL visible to callers without a key.
func TestPublicURLsMustNotHoldSecrets(t *testing.T) {
	c := plantCanaries(t)
	t.Setenv("HIDDEN", "a secret of a variable")
	files := map[string]string{"script.yaml": everyScript, "keys.json": `{"keys":[]}`, "token": "x"}
	var tried []string
	for canary, field := range c.fields {
		address := "https://" + canary + ".example"
		if at := classOf(field); at < 0 || exposures[at].seen[0] != 'y' || !strings.Contains(c.document, address) {
			continue
		}
		tried = append(tried, field)
		for _, secret := range []string{address + "/?x=${HIDDEN}", address + "#x=${HIDDEN}", address + "/?key=x", "https://user:${HIDDEN}@" + canary + ".example", "https://${HIDDEN}@" + canary + ".example"} {
			files["config.json"] = strings.Replace(c.document, address, secret, 1)
			t.Chdir(filesIn(t, files))
			name := field[strings.LastIndexByte(field, '.')+1:]
			if text := runLine(t, "validate config.json"); !strings.Contains(text, "error[invalid-value]: "+name) || strings.Contains(text, "a secret of a variable") {
				t.Errorf("%s can be %s:\n%s", field, secret, text)
			}
		}
	}
	if len(tried) < 5 {
		t.Errorf("only %d fields were tried: %v", len(tried), tried)
	}
}

// seenBy records a text seen by a viewer.
type seenBy func(viewer, text string)

// callAllMethods calls every gRPC method of the A2A services as every viewer.
func (w *town) callAllMethods(t *testing.T, c *canaries, made things, note seenBy) {
	t.Helper()
	conn, methods := w.dialGRPC(t, "clerk"), grpcMethods()
	for name, row := range callRows {
		for _, v := range viewers {
			for _, agent := range []string{"clerk", "other", "id-agent", "far", "borne", "id-own"} {
				request := strings.ReplaceAll(made.fill(row.request, v.tenant), `"tenant":"clerk"`, fmt.Sprintf(`"tenant":%q`, agent))
				header := http.Header{}
				if v.key != "" {
					header = bearer(v.key)
				}
				text, err := invoke(t, conn, methods[name], request, header)
				note(v.name, c.without(text+fmt.Sprint(err), request))
			}
		}
	}
}

// runAllCommands runs the commands that print server data as every viewer.
func (w *town) runAllCommands(t *testing.T, c *canaries, note seenBy) {
	t.Helper()
	for _, v := range viewers {
		t.Setenv(remote.KeyVariable, v.key)
		list := runLine(t, "turns --format json --server "+w.LocalURL())
		note(v.name, list)
		lines := []string{
			"sessions", "revisions list", "tenants list", "tenants show acme", "workflows schedules list", "workflows triggers list", "workflows runs list",
			"run clerk hello --format events", "run other hello --format json", "run borne hello --format events",
			"explain clerk --format json", "explain other", "explain borne --format json", "explain id-agent", "explain id-own --tenant acme",
		}
		for _, id := range regexp.MustCompile(`turn_[A-Za-z0-9-]+`).FindAllString(list, 3) {
			lines = append(lines, "turns transcript "+id+" --format json", "events "+id+" --format json")
		}
		for _, id := range regexp.MustCompile(`"session_id":\s*"([^"]+)"`).FindAllStringSubmatch(list, 3) {
			lines = append(lines, "sessions export "+id[1])
		}
		for _, line := range lines {
			note(v.name, c.without(runLine(t, line+" --server "+w.LocalURL()), line))
		}
	}
	t.Setenv(remote.KeyVariable, "")
}

// runFileCommands runs the commands that read a configuration file.
func runFileCommands(t *testing.T, document string, c *canaries) {
	t.Helper()
	secret := regexp.MustCompile(`^(?:` + exposures[0].fields + "|" + exposures[1].fields + `)$`)
	t.Chdir(filesIn(t, map[string]string{"config.json": document, "script.yaml": everyScript, "old.yaml": "version: 1\n", "keys.json": `{"keys":[]}`, "token": "x"}))
	for _, line := range []string{
		"validate config.json", "validate config.json --format json", "validate config.json --format sarif", "validate config.json --format github",
		"explain config.json clerk", "explain config.json clerk --format json", "explain config.json id-agent", "explain config.json id-agent --format json",
		"explain config.json borne", "diff old.yaml config.json", "diff old.yaml config.json --format json", "diff config.json old.yaml",
		"run config.json clerk hello --format events", "models --config config.json",
	} {
		text := runLine(t, line)
		for _, canary := range c.in(text) {
			if secret.MatchString(c.fields[canary]) {
				t.Errorf("%s prints %s", line, c.fields[canary])
			}
		}
	}
}

// runLine runs a command and returns its whole output.
func runLine(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	run(ctx, strings.Fields(line), terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	return out.String()
}

// without removes a request's canaries from its response: the caller knows them.
func (c *canaries) without(text, request string) string {
	for _, canary := range c.in(request) {
		text = strings.ReplaceAll(text, canary, "")
	}
	for _, agent := range []string{"id-agent", "id-own"} {
		if strings.Contains(request, agent) {
			text = strings.ReplaceAll(text, agent, "")
		}
	}
	return text
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

// mcpName matches the names and addresses in a list of prompts or resources.
var mcpName = regexp.MustCompile(`"(?:name|uri)":"([^"]+)"`)

// readMCP lists and reads the tools, prompts and resources of the MCP server as every viewer.
func (w *town) readMCP(t *testing.T, note seenBy) {
	t.Helper()
	for _, v := range viewers {
		ask := func(method, param, name string) string {
			params := map[string]any{"_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			}}
			header := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}, "Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
			if v.key != "" {
				header.Set("Authorization", "Bearer "+v.key)
			}
			if name != "" {
				params[param] = name
				header.Set("Mcp-Name", name)
			}
			body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
			if err != nil {
				t.Fatal(err)
			}
			got := w.ask(t, http.MethodPost, "/mcp", string(body), header)
			if name == "" && v.name == "runs" && got.status != http.StatusOK {
				t.Errorf("%s %s: %d %s", method, name, got.status, got.body)
			}
			return got.body
		}
		note(v.name, ask("tools/list", "", ""))
		for method, param := range map[string]string{"prompts/get": "name", "resources/read": "uri"} {
			kind, _, _ := strings.Cut(method, "/")
			list := ask(kind+"/list", "", "")
			note(v.name, list)
			for _, name := range mcpName.FindAllStringSubmatch(list, -1) {
				note(v.name, ask(method, param, name[1]))
			}
		}
	}
}

// allRequests returns the requests of all routes, including requests for every entry and revision.
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

// turnOf runs a turn of an agent and returns everything its caller receives.
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
