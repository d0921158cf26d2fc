package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/event"
)

// A stream that is cut at every event, and in the middle of each, gives all of them
// once.
func TestAStreamThatIsCutAnywhereGivesEveryEventOnce(t *testing.T) {
	w := serving(t)
	direct := w.client("alice")
	turn := begin(t, direct, "clerk", "one two three four")
	want := followed(t, direct, turn.ID, 0)
	for _, orderly := range []bool{false, true} {
		for size := 1; size < 500; size += 240 {
			cutter := &cutter{next: w.transport(), size: size, orderly: orderly}
			c, err := NewClient(ClientSettings{URL: w.url, Key: "alice", Transport: cutter, Patience: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, followed(t, c, turn.ID, 0)); diff != "" {
				t.Fatalf("cut to %d bytes, orderly %t (-want +got):\n%s", size, orderly, diff)
			}
			if cutter.streams < 2 {
				t.Errorf("nothing was cut")
			}
		}
	}
}

// cutter cuts streams some bytes after the first event, like a proxy.
type cutter struct {
	next    http.RoundTripper
	size    int
	orderly bool
	streams int
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), streamType) {
		c.streams++
		resp.Body = &cut{ReadCloser: resp.Body, left: c.size, orderly: c.orderly}
	}
	return resp, err
}

// cut is a body that ends some bytes after its first event.
type cut struct {
	io.ReadCloser
	// line is set when a line has just ended, and seen when an event has.
	line, seen bool
	left       int
	orderly    bool
}

func (c *cut) Read(p []byte) (int, error) {
	if c.seen && c.left <= 0 {
		if c.orderly {
			return 0, io.EOF
		}
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:1])
	if c.seen {
		c.left -= n
	}
	if n > 0 {
		end := p[0] == '\n'
		c.seen = c.seen || end && c.line
		c.line = end
	}
	return n, err
}

// A server that goes away is waited for, and the turn that it works on is followed
// to its end at the one that comes back.
func TestAClientWaitsForAServerThatHasAnsweredBefore(t *testing.T) {
	w := serving(t)
	gate := newGate(t, w.url)
	transport := newTransport()
	defer transport.CloseIdleConnections()
	broken := make(chan error, 10)
	c, err := NewClient(ClientSettings{URL: "http://" + gate.address, Key: "alice", Transport: transport, Broken: func(err error) { broken <- err }})
	if err != nil {
		t.Fatal(err)
	}
	turn := begin(t, c, "clerk", "hang")
	var seen []uint64
	for record, err := range c.Events(t.Context(), turn.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, record.Seq)
		if record.Type == event.TypeTextDelta {
			gate.close()
			if _, err := w.client("alice").CancelTurn(t.Context(), turn.ID, "enough"); err != nil {
				t.Fatal(err)
			}
			go func() {
				<-broken
				gate.open()
			}()
		}
	}
	if !slices.Equal(seen, []uint64{1, 2, 3, 4}) {
		t.Errorf("the events are %v", seen)
	}
	gate.close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-broken
		cancel()
	}()
	if _, err := c.GetTurn(ctx, turn.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that is given up gives %v", err)
	}
}

// gate passes connections on to a server while it is open.
type gate struct {
	t       testing.TB
	target  string
	address string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
	passing  sync.WaitGroup
}

func newGate(t testing.TB, url string) *gate {
	g := &gate{t: t, target: strings.TrimPrefix(url, "http://"), address: "127.0.0.1:0"}
	g.open()
	t.Cleanup(g.close)
	return g
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, err := net.Listen("tcp", g.address)
	if err != nil {
		g.t.Error(err)
		return
	}
	g.listener, g.address = l, l.Addr().String()
	g.passing.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", g.target)
			if err != nil {
				_ = conn.Close()
				continue
			}
			g.mu.Lock()
			g.conns = append(g.conns, conn, server)
			g.mu.Unlock()
			g.passing.Go(func() { _, _ = io.Copy(server, conn) })
			g.passing.Go(func() { _, _ = io.Copy(conn, server) })
		}
	})
}

func (g *gate) close() {
	g.mu.Lock()
	_ = g.listener.Close()
	for _, c := range g.conns {
		_ = c.Close()
	}
	g.conns = nil
	g.mu.Unlock()
	g.passing.Wait()
}

func TestTheServerThatDrainsCutsItsStreamsOff(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	turn := begin(t, c, "clerk", "hang")
	transport := newTransport()
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+Prefix+"/turns/"+turn.ID+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("Accept", streamType)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := newEventReader(resp.Body, func() {})
	for {
		record, err := lines.next()
		if err != nil {
			t.Fatal(err)
		}
		if record.Type == event.TypeTextDelta {
			break
		}
	}
	if err := w.drain(); err != nil {
		t.Errorf("the server does not end: %v", err)
	}
	if record, err := lines.next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the stream goes on with %v, or ends in good order: %v", record, err)
	}
}

// A stream that gives no sign of life is taken up again, and one that the server
// is too busy for after the time that it says. Of each break one is told once.
func TestASilentServerIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := &quiet{t: t}
		var told []string
		c, err := NewClient(ClientSettings{URL: "http://h", Transport: quiet, Broken: func(err error) { told = append(told, err.Error()) }})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		want := []string{"1 run_start", "2 text_delta", "3 run_finish"}
		if diff := cmp.Diff(want, followed(t, c, "t", 0)); diff != "" {
			t.Errorf("the events (-want +got):\n%s", diff)
		}
		const url = "GET http://h/runtime/v1/turns/t/events: "
		if diff := cmp.Diff([]string{url + "the server gives no sign of life", url + "unexpected EOF"}, told); diff != "" {
			t.Errorf("what is told (-want +got):\n%s", diff)
		}
		if took := time.Since(begun); took < defaultSilence+20*time.Second || took > defaultSilence+21*time.Second {
			t.Errorf("it takes %s", took)
		}
	})
}

// quiet falls silent after an event, then is too busy after another one, and then ends
// the turn.
type quiet struct {
	t    testing.TB
	asks int
}

func (q *quiet) RoundTrip(r *http.Request) (*http.Response, error) {
	const ev = "id: %[1]d\ndata: {\"seq\":%[1]d,\"time\":\"2026-01-02T03:04:05Z\",\"event_type\":%[2]q,\"turn_id\":\"t\"}\n\n"
	q.asks++
	seen := r.Header.Get(resumeHeader)
	header := http.Header{"Content-Type": {streamType}}
	switch q.asks {
	case 1:
		body := io.MultiReader(strings.NewReader(fmt.Sprintf(ev, 1, "run_start")), silent{r.Context()})
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(body)}, nil
	case 2:
		body := io.MultiReader(strings.NewReader(fmt.Sprintf(ev, 1, "run_start")+fmt.Sprintf(ev, 2, "text_delta")), failing{})
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(body)}, nil
	case 3:
		header = http.Header{"Content-Type": {"application/json"}, "Retry-After": {"20"}}
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: header, Body: io.NopCloser(strings.NewReader(`{"error":{"code":"rate_limited","message":"slowly","request_id":"r"}}`))}, nil
	default:
		if seen != "2" {
			q.t.Errorf("it goes on behind event %s", seen)
		}
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(fmt.Sprintf(ev, 3, "run_finish")))}, nil
	}
}

// silent says nothing until its request is given up.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// failing is the end of a stream that broke.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// An event that is too large for a stream is cut off in it. A client that follows the
// turn receives all of it.
func TestAnEventThatAStreamCutsOffIsReadAsAWhole(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	turn := begin(t, c, "boss", "pay much")
	var followed []event.Record
	for record, err := range c.Events(t.Context(), turn.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		followed = append(followed, record)
	}
	var kept []event.Record
	for len(kept) < len(followed) { // a page is as large as it may be
		page, err := c.ReadEvents(t.Context(), turn.ID, uint64(len(kept)), 100)
		if err != nil || len(page) == 0 {
			t.Fatalf("%d of %d events are kept, %v", len(kept), len(followed), err)
		}
		kept = append(kept, page...)
	}
	for i := range kept {
		if !bytes.Equal(kept[i].Data, followed[i].Data) {
			t.Errorf("event %d, %s, has %d bytes of %d: %.200s", i+1, kept[i].Type, len(followed[i].Data), len(kept[i].Data), followed[i].Data)
		}
	}
	if size := len(kept[slices.IndexFunc(kept, func(r event.Record) bool { return r.Type == event.TypeToolCallReady })].Data); size < len(much) {
		t.Errorf("the call has %d bytes", size)
	}
}
