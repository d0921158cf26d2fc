package agentruns

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// eventually waits until something holds, and fails the test when it never does.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// heap returns how much memory is in use, in bytes, after garbage is collected.
func heap() int {
	goruntime.GC()
	goruntime.GC() // what the first one has freed from pools
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// Whatever a client claims to have seen, its stream ends with the terminal event,
// unless that is what it has seen.
func TestWhoeverHasSeenWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := serving(t)
	over := w.begin("say hello", "")
	whole := w.events(over, "")
	w.client = http.DefaultClient // no request of these is as it is described
	last := whole[len(whole)-1].seq()
	for position, want := range map[string]int{
		"": len(whole), "text": len(whole), "-1": len(whole), "1.0": len(whole), "0x1": len(whole), "+1": len(whole), "18446744073709551616": len(whole), "1e3": len(whole), "%00": len(whole),
		"0": len(whole), fmt.Sprint(last - 1): 1, fmt.Sprint(last): 0,
		fmt.Sprint(last + 1): 1, "999999": 1, "9223372036854775808": 1, "18446744073709551615": 1,
	} {
		list := w.events(over, "?lastSeq="+position)
		if len(list) != want || want > 0 && (list[want-1].seq() != last || list[want-1].eventKind() != typeResult) {
			t.Errorf("behind %s there are %s", position, kinds(list))
		}
	}
}

func TestAPositionInTheFutureMissesNothingThatComes(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, position := range []string{"999999", "18446744073709551615"} {
		id, call := w.waiting(lookRef)
		answer := sync.OnceFunc(func() {
			w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+call+`","result":"seen"}`)
		})
		resp := w.request(http.MethodGet, "/agent-runs/"+id+"/stream?lastSeq="+position, "", "Last-Event-ID", "1")
		answer() // the stream is open
		var list []wireEvent
		for ev, err := range eventsOf(resp.Body) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, ev)
		}
		_ = resp.Body.Close()
		whole := w.events(id, "")
		if got := kinds(list); got != "local_tool_result_in assistant_delta assistant_message result" || list[0].seq() != whole[len(whole)-4].seq() {
			t.Errorf("behind %s there are %s of %s", position, got, kinds(whole))
		}
	}
}

func TestAClientThatVanishesInTheMiddleOfItsRequestMakesNothing(t *testing.T) {
	t.Parallel()
	w := serving(t)
	sessions, turns := w.kept()
	const body = `{"systemPrompt":"Obey.","prompt":"say hello"}`
	for n := range len(body) {
		c := w.dial()
		_, err := fmt.Fprintf(c, "POST /api/v1/workspaces/alices/agent-runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:n])
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	w.stop() // which waits for the requests
	if s, n := w.kept(); s != sessions || n != turns {
		t.Errorf("there were %d sessions and %d turns, and now %d and %d", sessions, turns, s, n)
	}
}

func TestARunWhoseClientsVanishGoesOn(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id, call := w.waiting(lookRef)
	before := goruntime.NumGoroutine()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			resp := w.request(http.MethodGet, "/agent-runs/"+id+"/stream", "")
			_, _ = resp.Body.Read(make([]byte, 64))
			_ = resp.Body.Close()
		})
	}
	all.Wait()
	eventually(t, "the streams end", func() bool { return goruntime.NumGoroutine() <= before+20 }) // other tests have some, too
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+call+`","result":"seen"}`)
	list := w.events(id, "")
	if last := list[len(list)-1].data; last["text"] != "seen" {
		t.Errorf("it ends with %v", last)
	}
}

// The tests below measure the process, so that they have it to themselves.

func TestClientsThatReconnectAllTheTimeLeaveNothingBehind(t *testing.T) {
	w := serving(t)
	id, call := w.waiting(lookRef)
	transport := &http.Transport{DisableKeepAlives: true}
	visit := func(i int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/api/v1/workspaces/alices/agent-runs/%s/stream?lastSeq=%d", w.url, id, i%3), http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer alice")
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		if i%2 == 0 {
			_, _ = resp.Body.Read(make([]byte, 64))
		}
		_ = resp.Body.Close()
	}
	for i := range 20 {
		visit(i)
	}
	w.client.CloseIdleConnections()
	goroutines, memory := goruntime.NumGoroutine(), heap()
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			for i := range 40 {
				visit(n + i)
			}
		})
	}
	all.Wait()
	eventually(t, "the goroutines end", func() bool { return goruntime.NumGoroutine() <= goroutines+2 })
	if grown := heap() - memory; grown > 2<<20 {
		t.Errorf("400 connections leave %d bytes behind", grown)
	}
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+call+`","result":"seen"}`)
	if list := w.events(id, ""); list[len(list)-1].data["text"] != "seen" {
		t.Errorf("it ends with %v", list[len(list)-1].data)
	}
}

func TestIdleStreamsAreFewGoroutinesAndSentWhole(t *testing.T) {
	const clients = 50
	w := serving(t)
	id, call := w.waiting(lookRef)
	w.client.CloseIdleConnections()
	goroutines := goruntime.NumGoroutine()
	opened := make([]net.Conn, clients)
	for i := range opened {
		c := w.dial()
		defer c.Close()
		if _, err := fmt.Fprintf(c, "GET /api/v1/workspaces/alices/agent-runs/%s/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\n\r\n", id); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
		opened[i] = c
	}
	eventually(t, "each stream is a handler and the reader of its connection", func() bool { return goruntime.NumGoroutine() <= goroutines+2*clients })
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", `{"toolUseId":"`+call+`","result":"seen"}`)
	for _, c := range opened {
		lines := bufio.NewScanner(c)
		for lines.Scan() && !strings.Contains(lines.Text(), `"text":"seen"`) {
		}
		if lines.Text() == "" {
			t.Errorf("a stream ends without news: %v", lines.Err())
		}
	}
}

// Clients that never read cost what is on its way to them, and no more, and are
// hung up on. Those that read are not held up.
func TestClientsThatNeverRead(t *testing.T) {
	const clients = 20
	kept, err := sqlite.Open(t.Context(), store.Settings{DSN: filepath.Join(t.TempDir(), "runtime.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	w := serving(t, func(s *setup) { s.service.Store, s.server.Limits.WriteTimeout = kept, 2*time.Second })
	// More than the system buffers, in many pieces.
	id := w.begin("again", `,"loopDetection":false,"budgets":{"maxToolTurns":12}`+lookRef)
	answer := fmt.Sprintf(`,"result":%q`, strings.Repeat("x", echoSize))
	if list := w.answered(id, func(map[string]any) string { return answer }); list[len(list)-1].eventKind() != typeResult {
		t.Fatal(kinds(list))
	}
	w.client = http.DefaultClient // what it costs is measured
	goroutines, memory := goruntime.NumGoroutine(), heap()
	var stalled []io.Closer
	for range clients {
		c := w.dial()
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10) // the smaller, the sooner the server feels it
		}
		if _, err := fmt.Fprintf(c, "GET /api/v1/workspaces/alices/agent-runs/%s/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\n\r\n", id); err != nil {
			t.Fatal(err)
		}
		stalled = append(stalled, c)
	}
	eventually(t, "all are served", func() bool { return goruntime.NumGoroutine() >= goroutines+clients })
	w.client = &http.Client{Transport: new(http.Transport)}
	resp := w.request(http.MethodGet, "/agent-runs/"+id+"/stream", "")
	if size, err := io.Copy(io.Discard, resp.Body); err != nil || size < 8<<20 {
		t.Errorf("whoever reads gets %d bytes, %v", size, err)
	}
	_ = resp.Body.Close()
	// Some of the largest events.
	if grown := heap() - memory; grown > clients*6<<20 {
		t.Errorf("%d clients cost %d KiB each", clients, grown/clients>>10)
	}
	w.client.CloseIdleConnections()
	eventually(t, "they are hung up on", func() bool { return goruntime.NumGoroutine() <= goroutines+2 })
	for _, c := range stalled {
		_ = c.Close()
	}
	if grown := heap() - memory; grown > 4<<20 {
		t.Errorf("they leave %d bytes behind", grown)
	}
}
