package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const bombConfig = `version: 1
providers: {s: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: s, upstream_model: x}}
agents: {clerk: {description: Answers., model_id: m}}
store: {driver: sqlite, dsn: ./kept.db}
server:
  listen: "127.0.0.1:0"
  keys: [{id: bomber, key: ark_bomber-bomber-bomber, tenant: acme}, {id: desk, key: ark_desk-desk-desk-desk, tenant: calm}]
`

// The bombs: the first is too large for any value, the second becomes too large by a nested answer.
var (
	doublingSchema  = doublingForms(26)
	recursiveSchema = `{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"items":{"$ref":"#/$defs/n"},"maxItems":0},{"items":{"$ref":"#/$defs/n"},"maxItems":0},{"type":"string"}]}}}`
	nestedAnswer    = strings.Repeat("[", 400) + "1" + strings.Repeat("]", 400)
)

// doublingForms returns a schema whose levels each refer twice to the next.
func doublingForms(levels int) string {
	defs := make([]string, 0, levels+1)
	for i := range levels {
		defs = append(defs, fmt.Sprintf(`"l%d":{"anyOf":[{"$ref":"#/$defs/l%[2]d"},{"$ref":"#/$defs/l%[2]d"}]}`, i, i+1))
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/l0","$defs":{%s,"l%d":{"type":"null"}}}`, strings.Join(defs, ","), levels)
}

// bystander is a client of a tenant.
type bystander struct {
	base, key, tenant string
}

// run creates a run and reads its stream to the end.
func (b *bystander) run(ctx context.Context, spec string) (status int, text string, err error) {
	at := b.base + "/api/v1/workspaces/" + b.tenant + "/agent-runs"
	status, text, err = b.ask(ctx, http.MethodPost, at, spec)
	if err != nil || status != http.StatusAccepted {
		return status, text, err
	}
	var made struct {
		RunID string `json:"runId"`
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		return status, text, err
	}
	_, text, err = b.ask(ctx, http.MethodGet, at+"/"+made.RunID+"/stream", "")
	return status, text, err
}

func (b *bystander) ask(ctx context.Context, method, url, body string) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header = bearer(b.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// slowest returns the 99th percentile of the durations of n runs.
func (b *bystander) slowest(t *testing.T, n int) time.Duration {
	t.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		begun := time.Now()
		if status, text, err := b.run(t.Context(), `{"systemPrompt":"Answer.","prompt":"hello"}`); err != nil || status != http.StatusAccepted || !strings.Contains(text, "Hello.") {
			t.Fatalf("%d %s %v", status, text, err)
		}
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[n*99/100]
}

// eightAtATime repeats a function in eight goroutines until the returned function is called.
func eightAtATime(t *testing.T, run func(ctx context.Context)) (stop func()) {
	const clients, pause = 8, 500 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			again := time.NewTicker(pause)
			defer again.Stop()
			for ctx.Err() == nil {
				run(ctx)
				select {
				case <-again.C:
				case <-ctx.Done():
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// Eight concurrent schema bombs end with a reason. The server uses little memory for them, and
// another tenant's runs take at most twice as long as beside eight other runs.
func TestSchemaBombsHarmNobody(t *testing.T) {
	f := &serverFleet{t: t, dir: t.TempDir()}
	for name, text := range map[string]string{
		"config.yaml": bombConfig,
		"script.yaml": "replies:\n  - {match: too many steps, text: The reason came.}\n  - {match: nest, text: '" + nestedAnswer + "'}\nfallback: {text: Hello.}\n",
	} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v := f.start("127.0.0.1:0")
	calm, other := &bystander{v.url, "ark_desk-desk-desk-desk", "calm"}, &bystander{v.url, "ark_bomber-bomber-bomber", "acme"}
	t.Logf("the 99th percentile is %v alone", calm.slowest(t, 300))
	compareLoads(t, calm, 2, func(ctx context.Context) {
		for range 2 {
			_, _, _ = other.run(ctx, `{"systemPrompt":"Answer.","prompt":"nest","outputSchema":{"name":"o","schema":{"type":"object"}}}`)
		}
	}, func(ctx context.Context) {
		status, text, err := other.run(ctx, `{"systemPrompt":"Answer.","prompt":"nest","outputSchema":{"name":"o","schema":`+recursiveSchema+`}}`)
		if err == nil && !strings.Contains(text, "The reason came.") {
			t.Errorf("a nested answer: %d %s", status, text[max(0, len(text)-600):])
		}
		status, text, err = other.run(ctx, `{"systemPrompt":"Answer.","prompt":"nest","outputSchema":{"name":"o","schema":`+doublingSchema+`}}`)
		if err == nil && (status != http.StatusBadRequest || !strings.Contains(text, "alternatives for one value")) {
			t.Errorf("a schema that doubles: %d %.300s", status, text)
		}
	})
	if peak := peakMemory(t, v.cmd.Process.Pid); peak > 300<<20 {
		t.Errorf("the server took %d MB", peak>>20)
	}
}

// compareLoads checks that the 99th percentile of a client's runs beside eight hostile clients is
// at most a multiple of the percentile beside eight ordinary clients. Other load on the machine
// affects measurements, so one of three must pass.
func compareLoads(t *testing.T, calm *bystander, most time.Duration, ordinary, hostile func(ctx context.Context)) {
	t.Helper()
	const runs, tries = 300, 3
	for try := 1; ; try++ {
		stop := eightAtATime(t, ordinary)
		beside := calm.slowest(t, runs)
		stop()
		stop = eightAtATime(t, hostile)
		busy := calm.slowest(t, runs)
		stop()
		t.Logf("the 99th percentile is %v beside ordinary clients and %v beside hostile ones", beside, busy)
		if busy <= most*beside {
			return
		}
		if try == tries {
			t.Errorf("the 99th percentile is more than %d times as high beside hostile clients", most)
			return
		}
	}
}

// peakMemory returns the peak memory of a process in bytes.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
