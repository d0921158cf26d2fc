package a2a

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

func TestAPeerThatIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	down := r.script.Endpoint("")
	down.BaseURL = "http://127.0.0.1:1" // a port that is given to nobody
	r.remote = remoteOf(t, down)
	res, err := r.run(t.Context())
	if got := termination(res, err); got.Code != client.CodeUnreachable {
		t.Errorf("it ends by %+v", got)
	}
	checkTurn(t, r, res, err)
}

// A thief is a host that the configuration does not name.
func newThief(t *testing.T) (thief *httptest.Server, heard func() string) {
	t.Helper()
	var mu sync.Mutex
	var all strings.Builder
	thief = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_ = r.Header.Write(&all)
		_, _ = io.Copy(&all, r.Body)
		_, _ = io.WriteString(w, peertest.Envelope("result", a2a.StreamResponse{Event: peertest.Task(peertest.Completed, "thanks")}))
	}))
	t.Cleanup(thief.Close)
	return thief, func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

func TestAPeerThatRedirectsToAnotherHost(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, method := range []string{peertest.MethodStream, peertest.MethodSubscribe} {
			thief, heard := newThief(t)
			replies := map[string][]peertest.Reply{peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}}
			replies[peertest.MethodStream] = []peertest.Reply{peertest.StreamOf(peertest.Task(peertest.Working, ""))}
			replies[method] = []peertest.Reply{peertest.Answers(code, "Location", thief.URL)}
			r := newRig(t, replies)
			res, err := r.run(t.Context())
			if got := termination(res, err); got.Code != client.CodeRefused {
				t.Errorf("%d of %s: it ends by %+v", code, method, got)
			}
			if heard() != "" {
				t.Errorf("%d of %s: the other host is sent %q", code, method, heard())
			}
			checkTurn(t, r, res, err)
		}
	}
}

func TestATurnAtAPeerWithABadCard(t *testing.T) {
	t.Parallel()
	thief, heard := newThief(t)
	with := func(change func(card *a2a.AgentCard)) func(url string) any {
		return func(url string) any {
			card := peertest.CardOf(url)
			change(card)
			return card
		}
	}
	for name, card := range map[string]func(url string) any{
		"no object":         func(string) any { return []int{1} },
		"a text":            func(string) any { return "<html>" },
		"null":              func(string) any { return nil },
		"no name":           with(func(c *a2a.AgentCard) { c.Name = "" }),
		"no interface":      with(func(c *a2a.AgentCard) { c.SupportedInterfaces = nil }),
		"a null interface":  with(func(c *a2a.AgentCard) { c.SupportedInterfaces = []*a2a.AgentInterface{nil} }),
		"another host":      with(func(c *a2a.AgentCard) { c.SupportedInterfaces[0].URL = thief.URL }),
		"no URL":            with(func(c *a2a.AgentCard) { c.SupportedInterfaces[0].URL = "" }),
		"a strange scheme":  with(func(c *a2a.AgentCard) { c.SupportedInterfaces[0].URL = "file:///etc/passwd" }),
		"no version":        with(func(c *a2a.AgentCard) { c.SupportedInterfaces[0].ProtocolVersion = "" }),
		"version 2":         with(func(c *a2a.AgentCard) { c.SupportedInterfaces[0].ProtocolVersion = "2.0" }),
		"version 0.3":       with(func(c *a2a.AgentCard) { c.SupportedInterfaces[0].ProtocolVersion = "0.3" }),
		"unknown transport": with(func(c *a2a.AgentCard) { c.SupportedInterfaces[0].ProtocolBinding = "SMTP" }),
		"a required extension": with(func(c *a2a.AgentCard) {
			c.Capabilities.Extensions = []a2a.AgentExtension{{URI: "https://example.com/pay-me", Required: true}}
		}),
		"5 MiB": with(func(c *a2a.AgentCard) { c.Description = strings.Repeat("x", 5<<20) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Completed, "hi"))}})
			r.script.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card(r.script.URL)) }, nil)
			res, err := r.run(t.Context())
			want := client.CodeCard
			if name == "5 MiB" {
				want = client.CodeTooLarge
			}
			if got := termination(res, err); got.Code != want {
				t.Errorf("it ends by %+v", got)
			}
			if n := len(r.script.Got(peertest.MethodStream)); n != 0 || heard() != "" {
				t.Errorf("the peer is asked %d times, another host is sent %q", n, heard())
			}
			checkTurn(t, r, res, err)
		})
	}
}

// endless streams events made by a peer until the client disconnects.
func endless(make func(n int) a2a.Event) peertest.Reply {
	return func(w http.ResponseWriter, c *peertest.Request) {
		peertest.SendEvents(w, peertest.Task(peertest.Working, ""))
		for n := 0; c.Ctx.Err() == nil; n++ {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", peertest.Envelope("result", a2a.StreamResponse{Event: make(n)})); err != nil {
				return
			}
		}
	}
}

// watchHeap returns a function that reports the maximum growth of the heap, in bytes.
func watchHeap(t *testing.T) (most func() uint64) {
	t.Helper()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	began, peak := heap(), uint64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				peak = max(peak, heap())
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-done
		return max(peak, began) - began
	}
}

// A peer that does not stop is stopped: stored content is bounded.
func TestAPeerThatFloods(t *testing.T) {
	const limit, room = 1 << 20, 48 << 20
	for name, flood := range map[string]func(n int) a2a.Event{
		"text":              func(int) a2a.Event { return peertest.Words(strings.Repeat("x", 10_000)) },
		"artifacts":         func(n int) a2a.Event { return peertest.Chunk(a2a.ArtifactID(fmt.Sprint(n)), false) },
		"files":             func(int) a2a.Event { return peertest.Chunk("a", true, a2a.NewRawPart([]byte{1})) },
		"states":            func(n int) a2a.Event { return peertest.Turned(peertest.Working, fmt.Sprint(n)) },
		"what has been":     func(int) a2a.Event { return peertest.Turned(peertest.Working, "") },
		"the same artifact": func(int) a2a.Event { return peertest.Chunk("a", false, a2a.NewTextPart(strings.Repeat("x", 1000))) },
		"turns": func(n int) a2a.Event {
			return peertest.Chunk(a2a.ArtifactID(fmt.Sprint(n%2)), true, a2a.NewTextPart("x"))
		},
		"snapshots": func(n int) a2a.Event { return peertest.Task(peertest.Working, fmt.Sprint("text ", n)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {endless(flood)}, peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}})
			r.remote.peer.Options.MaxOutputBytes = limit
			r.remote.peer.Endpoint.Timeout = new(spec.Duration(500 * time.Millisecond))
			most := watchHeap(t)
			begun := time.Now()
			res, err := r.run(t.Context())
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("it takes %s", took)
			}
			if grown := most(); grown > room {
				t.Errorf("it takes %d bytes", grown)
			}
			if got := termination(res, err); got.Code != client.CodeTooLarge && got.Code != "timeout" {
				t.Errorf("it ends by %+v", got)
			}
			shown := 0
			for _, data := range r.host.events {
				if d, ok := data.(*event.TextDelta); ok {
					shown += len(d.Delta)
				}
			}
			if shown > 2*limit || len(r.host.events) > 3*limit/exchange.Overhead {
				t.Errorf("%d bytes are shown in %d events", shown, len(r.host.events))
			}
			if n := len(r.script.Got(peertest.MethodCancel)); n != 1 {
				t.Errorf("the task is ended at the peer %d times", n)
			}
		})
	}
}

func TestATurnThatTakesTooLongEndsAtThePeerToo(t *testing.T) {
	t.Parallel()
	for name, replies := range map[string]map[string][]peertest.Reply{
		"while it is followed":    {peertest.MethodStream: {peertest.OpenStream(peertest.Task(peertest.Working, ""), peertest.Words("half"))}},
		"while it is looked for":  {peertest.MethodStream: {peertest.Answers(501)}, peertest.MethodSend: {peertest.Sent(peertest.Task(peertest.Working, "half"))}, peertest.MethodGet: {peertest.Result(peertest.Task(peertest.Working, "half"))}},
		"while nothing works":     {peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("half"))}, peertest.MethodSubscribe: {peertest.Answers(503)}, peertest.MethodGet: {peertest.Answers(503)}},
		"while the peer is slow":  {peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("half"))}, peertest.MethodSubscribe: {peertest.Hang}},
		"while it is to wait":     {peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Words("half"))}, peertest.MethodSubscribe: {peertest.Answers(429, "Retry-After", "3600")}},
		"although it makes noise": {peertest.MethodStream: {endless(func(int) a2a.Event { return peertest.Turned("TASK_STATE_ODD", "") })}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replies[peertest.MethodCancel] = []peertest.Reply{peertest.Answers(503), peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}
			r := newRig(t, replies)
			r.remote.peer.Endpoint.Timeout = new(spec.Duration(time.Second)) // the message arrives within it
			res, err := r.run(t.Context())
			got := termination(res, err)
			if got.Type != event.Failed || got.Code != string(model.Timeout) {
				t.Errorf("it ends by %+v", got)
			}
			if n := len(r.script.Got(peertest.MethodCancel)); n != 2 {
				t.Errorf("the task is ended at the peer %d times", n)
			}
			checkTurn(t, r, res, err)
		})
	}
}

func TestWhoseTimeIsUp(t *testing.T) {
	t.Parallel()
	replies := func() map[string][]peertest.Reply {
		return map[string][]peertest.Reply{peertest.MethodStream: {peertest.OpenStream(peertest.Task(peertest.Working, ""))}, peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}}
	}
	r := newRig(t, replies())
	r.job.Meter = backend.NewMeter(nil, &spec.Budgets{MaxDuration: new(spec.Duration(time.Second))}, backend.Spent{})
	res, err := r.run(t.Context())
	if got := termination(res, err); got.Type != event.BudgetExceeded || got.Code != backend.BudgetDuration || len(r.script.Got(peertest.MethodCancel)) != 1 {
		t.Errorf("a budget ends it by %+v", got)
	}
	r = newRig(t, replies())
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	res, err = r.run(ctx)
	if got := termination(res, err); got.Code != string(model.Timeout) || !errors.Is(err, context.DeadlineExceeded) || len(r.script.Got(peertest.MethodCancel)) != 1 {
		t.Errorf("the caller's deadline ends it by %+v: %v", got, err)
	}
}
