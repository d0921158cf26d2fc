package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"go.uber.org/zap"
)

const (
	operatorKey = "ark_operator-operator"
	readerKey   = "ark_reader-reader-reader"
	plainKey    = "ark_plain-plain-plain"
	someKey     = "ark_some-some-some-some"
	modelSecret = "value-of-a-variable"
)

const configuration = `version: 1
providers: {demo: {type: scripted}}
models: {m: {provider_id: demo, upstream_model: "${TEST_MODEL}"}, spare: {provider_id: demo, upstream_model: x}}
tools: {echo: {type: command, description: Echoes., command: [cat]}}
agents:
  clerk: {model_id: m, system_prompt: Help., excluded_tools: [echo]}
  other: {model_id: m}
store: {driver: memory}
revisions: {source: store}
server:
  keys:
    - {id: operator, key: ` + operatorKey + `, tenant: ops, subject: ann, scopes: [config:read, config:write]}
    - {id: reader, key: ` + readerKey + `, tenant: ops, subject: bob, scopes: [config:read]}
    - {id: plain, key: ` + plainKey + `, tenant: ops, subject: eve}
    - {id: some, key: ` + someKey + `, tenant: ops, subject: joe, agents: [other], scopes: [config:read, config:write]}
`

// site is a server.
type site struct {
	*testing.T
	handler http.Handler
	// tag is the ETag of the last answer.
	tag string
}

func open(t *testing.T, text string) *site {
	t.Helper()
	return openWith(t, text, zap.NewNop())
}

// openWith opens a server that writes a log.
func openWith(t *testing.T, text string, log *zap.Logger) *site {
	t.Helper()
	t.Setenv("TEST_MODEL", modelSecret)
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.Open(t.Context(), app.Options{Files: []string{file}, Components: shipped.Components(), PublicURL: "http://site.example", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Shutdown(context.WithoutCancel(t.Context())) })
	return &site{T: t, handler: a.Handler()}
}

// ask sends a request and returns the answer, which has no value of a variable.
func (s *site) ask(key, request, match string) (status int, answer map[string]any) {
	s.Helper()
	line, body, _ := strings.Cut(request, "\n")
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequestWithContext(s.Context(), method, "/runtime/v1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if match != "" {
		r.Header.Set("If-Match", `"`+match+`"`)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	s.tag = strings.Trim(w.Header().Get("ETag"), `"`)
	if strings.Contains(w.Body.String(), modelSecret) {
		s.Errorf("%s shows the value of a variable: %s", line, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		s.Fatalf("%s is answered with %d %s", line, w.Code, w.Body)
	}
	return w.Code, answer
}

// want asks as the operator, and wants a status.
func (s *site) want(status int, request, match string) map[string]any {
	s.Helper()
	got, answer := s.ask(operatorKey, request, match)
	if got != status {
		s.Fatalf("%s is answered with %d, not %d: %v", request, got, status, answer)
	}
	return answer
}

// at returns a field of an answer, as text.
func at(answer any, path ...string) string {
	for _, name := range path {
		switch v := answer.(type) {
		case map[string]any:
			answer = v[name]
		case []any:
			var i int
			_, _ = fmt.Sscan(name, &i)
			if i >= len(v) {
				return "nothing"
			}
			answer = v[i]
		}
	}
	return fmt.Sprint(answer)
}

func (s *site) hash() string { return at(s.want(200, "GET /agents", ""), "revision", "hash") }

func TestTheConfigurationIsRead(t *testing.T) {
	s := open(t, configuration)
	list := s.want(200, "GET /agents?limit=1", "")
	if at(list, "entries", "0", "id") != "clerk" || at(list, "next") != "clerk" || at(list, "revision", "number") != "1" {
		t.Errorf("the agents are %v", list)
	}
	if list = s.want(200, "GET /agents?limit=1&after=clerk", ""); at(list, "entries", "0", "id") != "other" || list["next"] != nil {
		t.Errorf("the rest is %v", list)
	}
	s.want(400, "GET /agents?after=nobody", "")
	s.want(400, "GET /agents?limit=0", "")
	if model := s.want(200, "GET /models/m", ""); at(model, "value", "upstream_model") != "${TEST_MODEL}" {
		t.Errorf("the model is %v", model)
	}
	s.want(404, "GET /tools/none", "")
	if e := s.want(200, "GET /agents/clerk/explain", ""); at(e, "explanation", "resolves") != "true" || at(e, "explanation", "upstream_model") != "${TEST_MODEL}" {
		t.Errorf("the explanation is %v", e)
	}
	s.want(200, "GET /diagnostics", "")
	r := s.want(200, "GET /revisions/"+s.hash(), "")
	if at(r, "author") != "file" || at(r, "current") != "true" || at(r, "document", "version") != "1" {
		t.Errorf("the revision is %v", r)
	}
	v := s.want(200, "POST /validate\n"+`{"document":{"version":1,"agents":{"a":{"model_id":"none"}}}}`, "")
	if at(v, "valid") != "false" || at(v, "findings", "0", "path") != "agents.a.model_id" {
		t.Errorf("the proof is %v", v)
	}
}

func TestReadinessNamesTheRevision(t *testing.T) {
	s := open(t, configuration)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz?verbose", http.NoBody))
	if want := fmt.Sprintf("ready\nrevision 1 (%.12s)\n", s.hash()); w.Body.String() != want {
		t.Errorf("it says %q, not %q", w.Body, want)
	}
}

// What is read and changed has the ETag that the next change wants as If-Match.
func TestAnswersHaveTheTagOfTheirRevision(t *testing.T) {
	s := open(t, configuration)
	first := s.hash()
	for _, path := range []string{"/agents", "/models/m", "/revisions/" + first} {
		if s.want(200, "GET "+path, ""); s.tag != first {
			t.Errorf("%s has the tag %q, not %q", path, s.tag, first)
		}
	}
	const change = "PUT /models/spare%s\n" + `{"value":{"provider_id":"demo","upstream_model":"y"}}`
	if s.want(200, fmt.Sprintf(change, "?dry_run=true"), s.tag); s.tag != "" {
		t.Errorf("a dry run has the tag %q", s.tag)
	}
	s.want(200, fmt.Sprintf(change, ""), first)
	if second := s.tag; second == "" || second == first || second != s.hash() {
		t.Errorf("after a change the tag is %q, before %q", second, first)
	}
	s.want(200, "DELETE /models/spare", s.tag)
	if s.want(404, "GET /models/spare", ""); s.tag != "" {
		t.Errorf("what is missing has the tag %q", s.tag)
	}
}

func TestTheConfigurationCanBeSwitchedOff(t *testing.T) {
	s := open(t, strings.Replace(configuration, "\nserver:\n", "\nserver:\n  admin: {enabled: false}\n", 1))
	s.want(404, "GET /agents", "")
	s.want(404, "PUT /agents/clerk\n{}", "none")
}

func TestScopesOfTheConfigurationAreNamed(t *testing.T) {
	s := open(t, configuration)
	if status, _ := s.ask(plainKey, "GET /agents", ""); status != 403 {
		t.Errorf("a key without scopes reads: %d", status)
	}
	if status, _ := s.ask(readerKey, "DELETE /models/spare", s.hash()); status != 403 {
		t.Errorf("a key that may read changes: %d", status)
	}
	if status, list := s.ask(someKey, "GET /agents", ""); status != 200 || strings.Contains(fmt.Sprint(list), "clerk") {
		t.Errorf("a key for one agent sees %d %v", status, list)
	}
	if status, _ := s.ask(someKey, "GET /agents/clerk", ""); status != 404 {
		t.Errorf("a key for one agent sees another: %d", status)
	}
	if status, _ := s.ask(someKey, "DELETE /models/spare", s.hash()); status != 400 {
		t.Errorf("a key for one agent changes a model: %d", status)
	}
}

func TestEntriesAreChanged(t *testing.T) {
	s := open(t, configuration)
	first := s.hash()
	wider := "PUT /agents/clerk%s\n" + `{"value":{"model_id":"m","system_prompt":"Help."},"note":"may echo"}`
	dry := s.want(200, fmt.Sprintf(wider, "?dry_run=true"), first)
	if at(dry, "dry_run") != "true" || at(dry, "number") != "0" || at(dry, "diff", "widened") != "true" {
		t.Errorf("the dry run is %v", dry)
	}
	for _, query := range []string{"?dry_run", "?dry_run=", "?fail_on=", "?dry_run=yes"} {
		s.want(400, fmt.Sprintf(wider, query), first)
	}
	if s.hash() != first {
		t.Error("the dry run was published")
	}
	if refused := s.want(409, fmt.Sprintf(wider, "?fail_on=widened"), first); at(refused, "error", "code") != "widened" {
		t.Errorf("the refusal is %v", refused)
	}
	s.want(400, fmt.Sprintf(wider, ""), "")
	out := s.want(200, fmt.Sprintf(wider, ""), first)
	if at(out, "number") != "2" || at(out, "hash") != s.hash() || s.hash() == first {
		t.Errorf("what was published is %v", out)
	}
	conflict := s.want(409, "DELETE /models/spare", first)
	if at(conflict, "error", "code") != "revision_conflict" || at(conflict, "error", "details", "hash") != s.hash() {
		t.Errorf("the conflict is %v", conflict)
	}
	inUse := s.want(409, "DELETE /models/m", s.hash())
	if at(inUse, "error", "code") != "in_use" || at(inUse, "error", "details", "used_by") != "[agents.clerk.model_id agents.other.model_id]" {
		t.Errorf("it is in use by %v", inUse)
	}
	s.want(200, "DELETE /models/spare", s.hash())
	s.want(404, "DELETE /models/spare", s.hash())
	wrong := s.want(400, "PUT /agents/clerk\n"+`{"value":{"model_id":"m","max_round":1}}`, s.hash())
	if at(wrong, "error", "code") != "invalid_document" || at(wrong, "error", "details", "findings", "0", "path") != "agents.clerk.max_round" {
		t.Errorf("the findings are %v", wrong)
	}
	secret := s.want(400, "PUT /tools/api\n"+`{"value":{"type":"http","method":"GET","url":"https://x.example","headers":{"Authorization":"Bearer abcdefghijklmnopqrstuvwxyz0123456789"}}}`, s.hash())
	if at(secret, "error", "code") != "invalid_document" || strings.Contains(fmt.Sprint(secret), "abcdefghijklm") {
		t.Errorf("the secret is %v", secret)
	}
	back := s.want(200, "POST /revisions/"+first+"/rollback\n{}", s.hash())
	if at(back, "number") != "4" || s.hash() != first {
		t.Errorf("the rollback is %v", back)
	}
	if list := s.want(200, "GET /revisions", ""); at(list, "revisions", "1", "author") != "ops/ann" || at(list, "revisions", "2", "note") != "may echo" {
		t.Errorf("the revisions are %v", list)
	}
	if d := s.want(200, "GET /revisions/"+at(out, "hash")+"/diff", ""); at(d, "agents", "0", "agent") != "clerk" {
		t.Errorf("the difference is %v", d)
	}
	if list := s.want(200, "GET /attempts", ""); !strings.Contains(fmt.Sprint(list), "refused") || !strings.Contains(fmt.Sprint(list), "conflict") {
		t.Errorf("the attempts are %v", list)
	}
}

func TestAgentProvidersAreChanged(t *testing.T) {
	s := open(t, strings.Replace(configuration, "agents:\n", `agent_providers: {coder: {type: address, address: "unix:coder"}}
agents:
  writer: {endpoint: {backend: provider, target: coder}}
`, 1))
	first := s.hash()
	s.want(200, "PUT /agent_providers/spare\n"+`{"value":{"type":"address","address":"unix:spare","drain_timeout":"1s"}}`, first)
	if list := s.want(200, "GET /agent_providers", ""); !strings.Contains(fmt.Sprint(list), "unix:coder") || !strings.Contains(fmt.Sprint(list), "unix:spare") {
		t.Errorf("the agent providers are %v", list)
	}
	inUse := s.want(409, "DELETE /agent_providers/coder", s.hash())
	if at(inUse, "error", "code") != "in_use" || at(inUse, "error", "details", "used_by") != "[agents.writer.endpoint.target]" {
		t.Errorf("it is in use by %v", inUse)
	}
	wrong := s.want(400, "PUT /agent_providers/coder\n"+`{"value":{"type":"address","address":"far.example:80"}}`, s.hash())
	if at(wrong, "error", "details", "findings", "0", "path") != "agent_providers.coder.address" {
		t.Errorf("the findings are %v", wrong)
	}
	s.want(200, "DELETE /agent_providers/spare", s.hash())
	if s.hash() != first {
		t.Error("the document is not what it was")
	}
}

func TestWorkflowsAreEntries(t *testing.T) {
	s := open(t, configuration)
	const request = "PUT /workflows/nightly\n" + `{"value":{"schedules":[{"cron":"@daily"}],"steps":[{"id":"ask","agent":{"agent":"AGENT","prompt":"Report ${{ signal.scheduled_for }}."}}]}}`
	wrong := s.want(400, strings.Replace(request, "AGENT", "nobody", 1), s.hash())
	if at(wrong, "error", "details", "findings", "2", "path") != "workflows.nightly.steps[0].agent.agent" {
		t.Errorf("the findings are %v", wrong)
	}
	s.want(200, strings.Replace(request, "AGENT", "other", 1), s.hash())
	if read := s.want(200, "GET /workflows/nightly", ""); at(read, "value", "schedules", "0", "cron") != "@daily" {
		t.Errorf("the workflow is %v", read)
	}
	if list := s.want(200, "GET /workflows", ""); !strings.Contains(fmt.Sprint(list), "nightly") {
		t.Errorf("the workflows are %v", list)
	}
	inUse := s.want(409, "DELETE /agents/other", s.hash())
	if at(inUse, "error", "code") != "in_use" || at(inUse, "error", "details", "used_by") != "[workflows.nightly.steps[0].agent.agent]" {
		t.Errorf("it is in use by %v", inUse)
	}
	s.want(200, "DELETE /workflows/nightly", s.hash())
	s.want(404, "GET /workflows/nightly", "")
}

func TestADocumentIsPublished(t *testing.T) {
	s := open(t, configuration)
	document := at(s.want(200, "GET /revisions/"+s.hash(), ""), "document", "agents", "clerk", "system_prompt")
	if document != "Help." {
		t.Errorf("the prompt is %s", document)
	}
	const next = "POST /revisions\n" + `{"document":{"version":1,"providers":{"demo":{"type":"scripted"}},"models":{"m":{"provider_id":"demo","upstream_model":"x"}},"agents":{"only":{"model_id":"m"}}}}`
	s.want(409, next, "none")
	s.want(200, next, s.hash())
	if list := s.want(200, "GET /agents", ""); at(list, "entries", "0", "id") != "only" {
		t.Errorf("the agents are %v", list)
	}
}

func TestFilesAreNotChanged(t *testing.T) {
	s := open(t, strings.Replace(configuration, "source: store", "source: file", 1))
	if refused := s.want(409, "DELETE /models/spare", s.hash()); at(refused, "error", "code") != "configuration_from_files" {
		t.Errorf("the refusal is %v", refused)
	}
	s.want(200, "DELETE /models/spare?dry_run=true", s.hash())
}
