package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"github.com/agentruntime/agentruntime/internal/testkit/fieldtest"
)

// recordingModel is a model that records its requests. It calls the tools that everyScript calls.
type recordingModel struct {
	mu       sync.Mutex
	requests strings.Builder
}

func (m *recordingModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	m.requests.Write(body)
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	text := string(body)
	for word, tool := range map[string]string{"refund ": "refund", "hold ": "lookup"} {
		if strings.Contains(text, word) && !strings.Contains(text, `"role":"tool"`) {
			fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":%q,"arguments":"{}"}}]}}]}`+"\n\n", tool)
			_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
			return
		}
	}
	streamsChat(w, text, "Hello.")
}

// take returns the requests since the last call.
func (m *recordingModel) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.requests.String()
	m.requests.Reset()
	return text
}

// fieldSurfaces are parts of the names of each surface's operations, in the order of the page.
var fieldSurfaces = []string{
	"/runtime/v1/", "/workflow/", "/agents/", "/agui/", "/aisdk/", "/a2a/", "A2A ", "/api/v1/workspaces/", "/api/a2a/", "/api/v1/agent/", "/api/oauth/", "/.well-known/", "/openapi.json", "/readyz",
}

// TestEveryFieldOfARequestIsHonoredOrRejected compares testdata/request_fields.yaml with the
// published description of the server and sends a request for each field.
func TestEveryFieldOfARequestIsHonoredOrRejected(t *testing.T) {
	t.Setenv("FIELDS_KEY", "k")
	recorder := new(recordingModel)
	models := httptest.NewServer(recorder)
	t.Cleanup(models.Close)
	w := newTown(t, "{type: scripted, script: ./script.yaml}", `{type: openai, api: chat_completions, base_url: "`+models.URL+`/v1", api_key: "${FIELDS_KEY}"}`, "store: {driver: memory}", "store: {driver: memory}\nrevisions: {source: store}\ntenants: {may: {fields: [description], workflows: {tools: [\"*\"]}}, variables: {WORD: {}}}",
		"{type: command,", "{type: command, effect: read,")
	var document map[string]any
	if err := json.Unmarshal([]byte(w.answer(t, http.MethodGet, "/openapi.json", "").body), &document); err != nil {
		t.Fatal(err)
	}
	w.make(t, "{task}{workrun}{revision}{rated}") // so that no list is empty
	all := bearer(w.token(t, "acme", "ann", w.scopes...))
	table := fieldtest.Read(t, "testdata/request_fields.yaml")
	common := table["all requests"].Fields
	inventory := map[string][]string{}
	described := &fieldtest.Fields{Document: document}
	paths, _ := document["paths"].(map[string]any)
	for path, item := range paths {
		if strings.HasPrefix(path, "/v1/") {
			continue // package server/openai has its own table
		}
		for method := range item.(map[string]any) {
			operation := strings.ToUpper(method) + " " + path
			fields := slices.DeleteFunc(described.OfOperation(path, method), func(field string) bool { return common[field] != "" })
			if method != "parameters" && len(fields) > 0 {
				inventory[operation] = fields
			}
		}
	}
	inventory["all requests"] = slices.Collect(maps.Keys(common))
	methods := apb.File_a2av1_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		inventory["A2A "+string(methods.Get(i).Name())] = fieldtest.OfMessage(methods.Get(i).Input(), true)
	}
	table.CheckComplete(t, inventory)
	for _, operation := range slices.Sorted(maps.Keys(table)) {
		if op := table[operation]; op.Base != nil || op.Query != "" || op.As == "" {
			t.Run(strings.ReplaceAll(operation, "/", "|"), func(t *testing.T) {
				p := &fieldProbe{town: w, operation: operation, as: op, recorder: recorder, all: all}
				p.run(t, table, inventory[operation])
			})
		}
	}
	checkRequestFieldsPage(t, table)
}

// fieldProbe sends the requests of an operation.
type fieldProbe struct {
	*town
	operation string
	as        *fieldtest.Operation
	recorder  *recordingModel
	// all is a credential of ann with every scope.
	all http.Header
}

func (p *fieldProbe) run(t *testing.T, table fieldtest.Table, fields []string) {
	t.Helper()
	if p.operation == "all requests" {
		return
	}
	base := p.send(t, "", nil, p.as.Base)
	if base.failed != p.as.Fails {
		t.Errorf("the request without further fields fails: %v, %s", base.failed, base.text)
	}
	for _, field := range fields {
		text, ok := table.Rule(p.operation, field)
		if !ok {
			continue
		}
		rule, err := fieldtest.ParseRule(text)
		if err != nil {
			t.Errorf("%s: %v", field, err)
			continue
		}
		p.probe(t, field, rule, &base)
		if !strings.Contains(field, ":") && !rule.Whole {
			p.sendWrongTypes(t, base.made, field)
		}
	}
}

// goError matches texts about Go types in errors of encoding/json and gRPC.
var goError = regexp.MustCompile(`json: |cannot unmarshal|Go (value|struct|type)|UnmarshalJSON|proto: `)

// sendWrongTypes sends a field with values of each type. No answer may name a Go type.
func (p *fieldProbe) sendWrongTypes(t *testing.T, made things, field string) {
	t.Helper()
	for _, value := range []any{7.5, []any{7.5}, map[string]any{"theta": 7.5}} {
		if got := p.sendFor(t, made, "", nil, fieldtest.Set(p.as.Base, field, value)); got.failed && goError.MatchString(got.text) {
			t.Errorf("%s: %v is answered with %s", field, value, got.text)
		}
	}
}

func (p *fieldProbe) probe(t *testing.T, field string, rule *fieldtest.Rule, base *probed) {
	t.Helper()
	if test, ok := strings.CutPrefix(rule.Expect, "see "); ok {
		if _, known := testNames(t)[test]; !known {
			t.Errorf("%s: there is no test %s", field, test)
		}
		return
	}
	query, header, body := "", http.Header(nil), p.as.Base
	switch in, name, _ := strings.Cut(field, ":"); {
	case in == "query":
		query = fmt.Sprintf("%s=%v", name, rule.Value)
	case in == "header":
		header = http.Header{http.CanonicalHeaderKey(name): {fmt.Sprint(rule.Value)}}
	case rule.Whole:
		body = rule.Value
	case rule.At != "":
		body = fieldtest.Set(body, rule.At, rule.Value)
	default:
		body = fieldtest.Set(body, field, rule.Value)
	}
	if rule.Expect == "the same answer again" {
		first := p.send(t, query, header, body)
		second := p.sendFor(t, first.made, query, header, body)
		if first.failed || first.id == "" || first.id != second.id {
			t.Errorf("%s: the second request with the same key makes %s, not %s", field, second.text, first.text)
		}
		return
	}
	got := p.send(t, query, header, body)
	if lost, ok := strings.CutPrefix(rule.Expect, "without "); ok {
		if got.failed || strings.Contains(got.text, lost) || !strings.Contains(base.text, lost) {
			t.Errorf("%s: the answer has %q: %s", field, lost, got.text)
		}
		return
	}
	switch {
	case rule.Class == fieldtest.Ignored && got.failed != p.as.Fails:
		t.Errorf("%s is ignored, and fails: %s", field, got.text)
	case rule.Class == fieldtest.Rejected && !got.failed:
		t.Errorf("%s is rejected, and the request succeeds: %s", field, got.text)
	case rule.Class != fieldtest.Ignored && !strings.Contains(got.text, rule.Expect):
		t.Errorf("%s: the answer lacks %q: %s", field, rule.Expect, got.text)
	case rule.Class != fieldtest.Ignored && strings.Contains(base.text, rule.Expect):
		t.Errorf("%s: the answer without the field has %q, too", field, rule.Expect)
	}
}

// testNames returns the names of the tests of the packages that serve requests.
var testNames = func() func(t *testing.T) map[string]bool {
	names := map[string]bool{}
	return func(t *testing.T) map[string]bool {
		t.Helper()
		if len(names) > 0 {
			return names
		}
		for _, root := range []string{".", "../server"} {
			err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, "_test.go") {
					return err
				}
				source, err := os.ReadFile(path)
				for _, found := range testFunction.FindAllSubmatch(source, -1) {
					names[string(found[1])] = true
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return names
	}
}()

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// probed is the result of a request: its answer, the answers to further requests, and the model's
// requests.
type probed struct {
	text, id string
	failed   bool
	made     things
}

var madeID = regexp.MustCompile(`"(?:id|runId|sessionId|snapshotId|contextId)":"([^"]+)"`)

func (p *fieldProbe) send(t *testing.T, query string, header http.Header, body any) probed {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return p.sendFor(t, p.make(t, cmp.Or(p.as.Path, p.operation)+string(encoded)), query, header, body)
}

// sendFor sends a request about things that were made before.
func (p *fieldProbe) sendFor(t *testing.T, made things, query string, header http.Header, body any) probed {
	t.Helper()
	method, path, ok := strings.Cut(p.operation, " ")
	if method == "A2A" {
		body = map[string]any{"jsonrpc": "2.0", "id": 1, "method": path, "params": body}
		method, path = http.MethodPost, "/a2a/clerk"
	}
	encoded, err := json.Marshal(body)
	if err != nil || !ok {
		t.Fatal(p.operation, err)
	}
	name, _, _ := strings.Cut(query, "=")
	parameters := slices.DeleteFunc(strings.Split(p.as.Query, "&"), func(other string) bool { return strings.HasPrefix(other, name+"=") })
	request := cmp.Or(p.as.Path, path) + "?" + strings.Join(append(parameters, query), "&") + "\n"
	if body != nil {
		request += string(encoded)
	}
	path, text, _ := strings.Cut(made.fill(request, "acme"), "\n")
	headers := []http.Header{p.all, header}
	if strings.HasPrefix(path, "/runtime/v1/") {
		headers = append(headers, http.Header{"If-Match": p.answer(t, http.MethodGet, "/runtime/v1/models", "", p.all).header["Etag"]})
	}
	if strings.HasPrefix(path, "/api/oauth/") {
		headers = append(headers, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
		text = encodeForm(body)
	}
	p.recorder.take()
	got := p.read(t, method, path, text, headers...)
	out := probed{made: made, failed: got.status >= http.StatusBadRequest || strings.Contains(got.body, `"error":{"code":-`)}
	out.text = fmt.Sprintf("%d %s %s", got.status, got.header.Values("Warning"), got.body)
	if found := madeID.FindStringSubmatch(got.body); found != nil {
		out.id = found[1]
	}
	for _, then := range p.as.Then {
		method, path, _ := strings.Cut(strings.ReplaceAll(then, "{id}", out.id), " ")
		if !out.failed {
			path, body, _ := strings.Cut(path, " ")
			out.text += p.read(t, method, made.fill(path, "acme"), body, p.all, http.Header{"Accept": {"text/event-stream, */*"}}).body
		}
	}
	out.text += p.recorder.take()
	return out
}

func encodeForm(body any) string {
	fields, _ := body.(map[string]any)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, fmt.Sprintf("%s=%v", name, fields[name]))
	}
	return strings.Join(list, "&")
}

// read sends a request and reads the answer to its end, for at most five seconds.
func (p *fieldProbe) read(t *testing.T, method, path, body string, headers ...http.Header) heard {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.LocalURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	for _, header := range headers {
		maps.Copy(req.Header, header)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s %s does not end: %v: %s", method, path, body, err, text)
	}
	return heard{resp.StatusCode, resp.Header, string(text)}
}

// checkRequestFieldsPage compares the fields that are not honored with docs/guides/server.md;
// -update writes them.
func checkRequestFieldsPage(t *testing.T, table fieldtest.Table) {
	t.Helper()
	names := slices.SortedFunc(maps.Keys(table), func(a, b string) int {
		surface := func(name string) int {
			return slices.IndexFunc(fieldSurfaces, func(part string) bool { return strings.Contains(name, part) })
		}
		if d := surface(a) - surface(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	const file, begin, end = "../docs/guides/server.md", "<!-- generated: request-fields -->\n", "\n<!-- end generated -->"
	page := readAll(t, file)
	before, rest, _ := strings.Cut(page, begin)
	_, after, found := strings.Cut(rest, end)
	fresh := before + begin + table.Markdown(names) + end + after
	switch {
	case !found:
		t.Error("docs/guides/server.md has no region request-fields")
	case fresh == page:
	case !*update:
		t.Error("the region request-fields of docs/guides/server.md is stale; run: go test ./cli -run TestEveryFieldOfARequest -update")
	default:
		if err := os.WriteFile(file, []byte(fresh), 0o644); err != nil { //nolint:gosec // documentation
			t.Fatal(err)
		}
	}
}

func TestCallersOfATenantMakeALimitedNumberOfSchedules(t *testing.T) {
	w := newTown(t, "  listen: 127.0.0.1:0", "  listen: 127.0.0.1:0\n  workflows: {max_starts: 2}")
	make := func(path, match, tenant string) heard {
		return w.ask(t, http.MethodPost, path, `{`+match+`,"target":{"steps":[{"id":"a","agent":{"agent":"clerk","prompt":"x"}}]}}`, bearer(w.token(t, tenant, "ann", w.scopes...)))
	}
	first := make("/workflow/schedules", `"cron":"@yearly"`, "acme")
	second := make("/workflow/event-triggers", `"match":{"type":"x"}`, "acme")
	third := make("/workflow/schedules", `"cron":"@yearly"`, "acme")
	if first.status != http.StatusCreated || second.status != http.StatusCreated || third.status != http.StatusConflict || !strings.Contains(third.body, `"too_many"`) {
		t.Errorf("the answers are %v, %v and %v", first, second, third)
	}
	if other := make("/workflow/schedules", `"cron":"@yearly"`, "globex"); other.status != http.StatusCreated {
		t.Errorf("another tenant is told %v", other)
	}
}
