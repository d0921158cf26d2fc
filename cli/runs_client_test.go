package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// runsClient is a client of runs that reconnects when its server is gone.
type runsClient struct {
	t         *testing.T
	mu        sync.Mutex
	base, key string
}

// move switches the client to another server.
func (c *runsClient) move(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = url
}

// show switches the client to another key.
func (c *runsClient) show(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
}

// send sends a request. It fails while there is no server.
func (c *runsClient) send(ctx context.Context, method, path, body string) (*http.Response, error) {
	c.mu.Lock()
	url, key := c.base+"/api/v1/workspaces/acme"+path, cmp.Or(c.key, rightKey)
	c.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", key)
	return http.DefaultClient.Do(req)
}

// ask sends a request and reads the answer; the status is 0 when there is no
// server.
func (c *runsClient) ask(method, path, body string) (status int, answer map[string]any) {
	c.t.Helper()
	resp, err := c.send(c.t.Context(), method, path, body)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		c.t.Fatalf("%s %s: %s %v", method, path, resp.Status, err)
	}
	return resp.StatusCode, answer
}

func (c *runsClient) get(path string) (int, map[string]any) { return c.ask(http.MethodGet, path, "") }

func (c *runsClient) post(path, body string) (int, map[string]any) {
	return c.ask(http.MethodPost, path, body)
}

// begin begins a run of the agent and follows it.
func (c *runsClient) begin(fields string) *followed {
	c.t.Helper()
	return c.beginAt("/agent-runs", `"agentId":"clerk",`+fields)
}

func (c *runsClient) beginAt(path, fields string) *followed {
	c.t.Helper()
	status, answer := c.post(path, "{"+fields+"}")
	id, _ := answer["runId"].(string)
	if status != http.StatusAccepted || id == "" {
		c.t.Fatalf("%s: %d %v", path, status, answer)
	}
	f := &followed{client: c, at: "/agent-runs/" + id, news: make(chan struct{}), over: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(func() {
		cancel()
		<-f.over
	})
	go f.follow(ctx)
	return f
}

// followed is a run that a client follows.
type followed struct {
	client *runsClient
	at     string

	mu     sync.Mutex
	events []map[string]any
	// streams is the number of stream requests so far.
	streams int
	// wrong is a violation by a server.
	wrong error
	// news is closed and replaced on news; over is closed when the run is over.
	news, over chan struct{}
}

// errCut reports that a stream was interrupted.
var errCut = errors.New("the stream was interrupted")

// follow reads the events, including events from servers that start later.
func (f *followed) follow(ctx context.Context) {
	defer close(f.over)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := f.stream(ctx)
		if !errors.Is(err, errCut) {
			f.take(nil, err)
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// stream reads the events of one stream; nil means the run has ended.
func (f *followed) stream(ctx context.Context) error {
	f.mu.Lock()
	f.streams++
	seen := len(f.events)
	f.mu.Unlock()
	resp, err := f.client.send(ctx, http.MethodGet, fmt.Sprintf("%s/stream?lastSeq=%d", f.at, seen), "")
	if err != nil {
		return errCut
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" {
		return errCut // the server is starting
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream answers %s", resp.Status)
	}
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return errors.New("the stream ended before the run") // as if no more came
		}
		if err != nil {
			return errCut
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var ev map[string]any
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			return err
		}
		if seen++; ev["seq"] != float64(seen) {
			return fmt.Errorf("event %v comes behind %d", ev, seen-1)
		}
		f.take(ev, nil)
		switch ev["type"] {
		case "result", "error", "cancelled":
			return nil
		}
	}
}

func (f *followed) take(ev map[string]any, wrong error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrong = wrong
	if ev != nil {
		f.events = append(f.events, ev)
	}
	close(f.news)
	f.news = make(chan struct{})
}

func (f *followed) list() []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

// check fails the test if a server violated the protocol.
func (f *followed) check() {
	f.client.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wrong != nil {
		f.client.t.Fatal(f.wrong)
	}
}

// of returns the events of a type so far, and a channel that is closed when more arrive.
func (f *followed) of(kind string) (list []map[string]any, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ev := range f.events {
		if ev["type"] == kind {
			list = append(list, ev)
		}
	}
	return list, f.news
}

// await waits until the run has n events of a type.
func (f *followed) await(kind string, n int) {
	f.client.t.Helper()
	late := time.After(storeTime)
	for {
		list, more := f.of(kind)
		if len(list) >= n {
			return
		}
		select {
		case <-more:
			f.check()
		case <-late:
			f.client.t.Fatalf("there are %d of %s in %v", len(list), kind, f.list())
		}
	}
}

// answer answers a call, which must return one of the statuses.
func (f *followed) answer(status int, call, result string, or ...int) {
	f.client.t.Helper()
	got, answer := f.client.post(f.at+"/tool-results", fmt.Sprintf(`{"toolUseId":%q,"result":%q}`, call, result))
	if got != status && !slices.Contains(or, got) {
		f.client.t.Errorf("the answer to %s gives %d %v, want %d", call, got, answer, status)
	}
}

// end waits for the end of the run, and returns its last event.
func (f *followed) end() map[string]any {
	f.client.t.Helper()
	select {
	case <-f.over:
	case <-time.After(storeTime):
		f.client.t.Fatalf("the run does not end: %v", f.list())
	}
	f.check()
	list := f.list()
	return list[len(list)-1]
}

// compare compares the received events with those read without interruption.
func (f *followed) compare() {
	t := f.client.t
	t.Helper()
	whole := &followed{client: f.client, at: f.at, news: make(chan struct{})}
	if err := whole.stream(t.Context()); err != nil {
		t.Errorf("the whole log: %v", err)
	}
	if got, want := f.list(), whole.list(); !reflect.DeepEqual(got, want) {
		t.Errorf("it was told %v\nof %v", got, want)
	}
}

// calls returns the calls requested from the client, sorted.
func (f *followed) calls() []string {
	asked, _ := f.of("local_tool_call")
	list := make([]string, len(asked))
	for i, ev := range asked {
		list[i] = fmt.Sprintf("%v %v %v", ev["kind"], ev["name"], ev["toolUseId"])
	}
	slices.Sort(list)
	return list
}
