package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// drainingConfig has a tool that ends when a file exists.
const drainingConfig = `version: 1
providers: {s: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: s, upstream_model: x}}
tools:
  slow: {type: command, description: Waits., parameters: {type: object}, effect: read, command: [sh, -c, "touch began; until [ -e go ]; do sleep 0.05; done"]}
agents: {clerk: {description: Works., model_id: m}}
turns: {grace: 1m}
store: {driver: sqlite, dsn: ./kept.db}
server: {listen: "127.0.0.1:0"}
`

// TestADrainingServerAnswersForItsRuns sends the built server SIGTERM while one run works and
// another waits longer for its client.
func TestADrainingServerAnswersForItsRuns(t *testing.T) {
	f := &serverFleet{t: t, dir: t.TempDir()}
	for name, text := range map[string]string{
		"config.yaml": drainingConfig,
		"script.yaml": "replies:\n  - {match: work, tool_calls: [{id: call_1, name: slow, arguments: {}}]}\n  - {match: wait, tool_calls: [{id: call_2, name: look, arguments: {}}]}\nfallback: {text: Done.}\n",
	} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v := f.start("127.0.0.1:0")
	const at = "/api/v1/workspaces/local/agent-runs"
	ask := func(method, path, body string) (int, string, http.Header) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, v.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text), resp.Header
	}
	const spec = `{"systemPrompt":"Work.","prompt":"wait","tools":[{"kind":"local","name":"look"}]}`
	begin := func(spec string) string {
		t.Helper()
		status, text, _ := ask(http.MethodPost, at, spec)
		_, id, _ := strings.Cut(text, `"runId":"`)
		id, _, _ = strings.Cut(id, `"`)
		if status != http.StatusAccepted {
			t.Fatalf("%d %s", status, text)
		}
		return id
	}
	id := begin(spec)
	working := begin(`{"systemPrompt":"Work.","prompt":"work","tools":[{"kind":"mantyx","id":"slow"}]}`)
	eventually(t, func() bool { _, err := os.Stat(filepath.Join(f.dir, "began")); return err == nil })
	eventually(t, func() bool {
		_, text, _ := ask(http.MethodGet, "/runtime/v1/turns/"+id+"/interactions", "")
		return strings.Contains(text, `"pending"`)
	})
	if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		status, _, _ := ask(http.MethodGet, "/readyz", "")
		return status == http.StatusServiceUnavailable
	})

	if status, text, header := ask(http.MethodPost, at, spec); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(text, `"code":"unavailable"`) {
		t.Errorf("a new run is answered with %d %s", status, text)
	}
	stream, err := http.Get(v.url + at + "/" + id + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if seen, err := firstEvent(stream.Body); err != nil || stream.StatusCode != http.StatusOK || !strings.Contains(seen, "started") {
		t.Errorf("its stream begins with %s, %v", seen, err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { // no step is still running
		_, text, _ := ask(http.MethodGet, "/runtime/v1/turns/"+working, "")
		return strings.Contains(text, `"status":"pending"`)
	})
	if status, text, _ := ask(http.MethodPost, at+"/"+id+"/tool-results", `{"toolUseId":"call_2","result":"seen"}`); status != http.StatusOK {
		t.Errorf("the result of a tool is answered with %d %s", status, text)
	}
	select {
	case <-v.ended:
	case <-time.After(storeTime):
		t.Fatal("the server does not end")
	}
	if v.err != nil {
		t.Errorf("it ends with %v:\n%s", v.err, v.said.String())
	}
	if rest, err := io.ReadAll(stream.Body); err == nil {
		t.Errorf("the stream of a run that goes on elsewhere ends in good order: %s", rest)
	}

	v = f.start("127.0.0.1:0")
	if _, text, _ := ask(http.MethodGet, at+"/"+id+"/stream", ""); !strings.Contains(text, `"output":"seen"`) || !strings.Contains(text, `"text":"Done."`) {
		t.Errorf("the run went on with %s", text)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(storeTime); !is(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it does not come to it")
		}
	}
}
