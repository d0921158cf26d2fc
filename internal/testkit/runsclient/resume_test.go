package runsclient_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

// cuts are the ways to cut a stream at every event.
var cuts = map[string]cut{
	"reset after each event":  {events: 1, reset: true},
	"ended after each event":  {events: 1},
	"reset within each event": {events: 1, bytes: 11, reset: true},
	"ended within each event": {events: 1, bytes: 60},
	"reset before each end":   {events: 2, short: true, reset: true},
}

// events returns a client's events of a run.
func events(t *testing.T, c *runsclient.Client, runID string, after int64) []runsclient.Event {
	t.Helper()
	var all []runsclient.Event
	for e, err := range c.Events(t.Context(), runID, after) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// cutEverywhere follows a run over cut connections, first live and then after its end, and compares
// the events with the complete list.
func cutEverywhere(t *testing.T, how cut, sdk runsclient.SDK, servers ...*program) {
	t.Helper()
	p := between(t, how, servers...)
	c := p.client(t, sdk)
	var calls atomic.Int64
	tools := []runsclient.Tool{{Ref: object{"kind": "mantyx", "id": "word_count"}}, counted(&calls)}
	spec := ask("ticking", "Go.", tools...)
	spec.ReasoningLevel = "high"
	made, err := c.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	live, err := c.Drive(t.Context(), made.RunID, tools, 0, nil)
	if err != nil {
		t.Fatal(err, shown(live))
	}
	if calls.Load() != 1 {
		t.Errorf("the tool was called %d times", calls.Load())
	}
	whole := events(t, servers[0].client(sdk), made.RunID, 0)
	if diff := cmp.Diff(whole, live.Events); diff != "" || len(whole) < 12 {
		t.Errorf("of %d events these were shown differently (-want +got):\n%s", len(whole), diff)
	}
	if diff := cmp.Diff(whole, events(t, c, made.RunID, 0)); diff != "" {
		t.Errorf("what is shown again differs (-want +got):\n%s", diff)
	}
	if least := int64(2 * (len(whole) - 1)); p.broken.Load() < least {
		t.Errorf("%d connections were cut, want %d", p.broken.Load(), least)
	}
}

// counted is the tool weather with a call counter.
func counted(calls *atomic.Int64) runsclient.Tool {
	tool := weather("sunny", nil)
	run := tool.Call
	tool.Call = func(ctx context.Context, name string, args object) (string, error) {
		calls.Add(1)
		return run(ctx, name, args)
	}
	return tool
}

func TestAStreamIsCutAtEveryEvent(t *testing.T) {
	t.Parallel()
	for name, how := range cuts {
		for _, sdk := range runsclient.SDKs {
			t.Run(name+" "+string(sdk), func(t *testing.T) {
				t.Parallel()
				cutEverywhere(t, how, sdk, serve(t))
			})
		}
	}
}

func TestAStreamIsCutBetweenTwoServers(t *testing.T) {
	t.Parallel()
	storage := filepath.Join(t.TempDir(), "postgres.yaml")
	if err := os.WriteFile(storage, fmt.Appendf(nil, "version: 1\nstore: {driver: postgres, dsn: %q}\n", pgtest.Start(t).Database(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	first := serveAlone(t, storage)
	second := serveAlone(t, storage)
	t.Run("cut", func(t *testing.T) {
		for name, how := range cuts {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cutEverywhere(t, how, runsclient.Go, first, second)
			})
		}
	})
}

func TestAStreamIsTakenUpBehindEachEvent(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	r, err := c.Run(t.Context(), ask("server_tool", "Count.", runsclient.Tool{Ref: object{"kind": "mantyx", "id": "word_count"}}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Events {
		if diff := cmp.Diff(r.Events[i:], events(t, c, r.RunID, int64(i))); diff != "" {
			t.Errorf("after event %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestWhereAStreamBegins(t *testing.T) {
	t.Parallel()
	p := serve(t)
	c := p.client(runsclient.Go)
	r, err := c.Run(t.Context(), ask("hello", "Hi."))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		query, header string
		from          int
	}{
		"nothing":                {"", "", 1},
		"the query":              {"?lastSeq=2", "", 3},
		"the header":             {"", "2", 3},
		"both, and they differ":  {"?lastSeq=3", "1", 4},
		"an invalid query":       {"?lastSeq=two", "", 1},
		"an invalid header":      {"", "two", 1},
		"a number below nothing": {"?lastSeq=-1", "", 1},
		"the last":               {fmt.Sprintf("?lastSeq=%d", len(r.Events)-1), "", len(r.Events)},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+c.Path("agent-runs", r.RunID, "stream")+tt.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", desk)
		if tt.header != "" {
			req.Header.Set("Last-Event-ID", tt.header)
		}
		body := fetch(t, req)
		if want := fmt.Sprintf("id: %d\nevent: %s\ndata: {", tt.from, r.Events[tt.from-1].Type); !strings.HasPrefix(body, want) {
			t.Errorf("%s: the stream begins with %.80q, want %q", name, body, want)
		}
		if got := strings.Count(body, "\n\n"); got != len(r.Events)-tt.from+1 || !strings.HasSuffix(body, "\n\n") {
			t.Errorf("%s: the stream has %d frames", name, got)
		}
	}
}

// fetch returns a whole stream, which must end by itself.
func fetch(t *testing.T, req *http.Request) string {
	t.Helper()
	late := time.AfterFunc(patience, func() { t.Error("the stream does not end") })
	defer late.Stop()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return body.String()
}
