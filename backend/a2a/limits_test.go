package a2abackend

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
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

func TestAPeerThatIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script.Close()
	res, err := r.run(t.Context())
	if got := termination(res, err); got.Code != CodeUnreachable {
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
		_, _ = io.WriteString(w, envelope("result", a2a.StreamResponse{Event: task(completed, "thanks")}))
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
		for _, method := range []string{methodStream, methodSubscribe} {
			thief, heard := newThief(t)
			replies := map[string][]reply{methodCancel: {result(task(a2a.TaskStateCanceled, ""))}}
			replies[methodStream] = []reply{streamOf(task(working, ""))}
			replies[method] = []reply{answers(code, "Location", thief.URL)}
			r := newRig(t, replies)
			res, err := r.run(t.Context())
			if got := termination(res, err); got.Code != CodeRefused {
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
			card := cardOf(url)
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
			r := newRig(t, map[string][]reply{methodStream: {streamOf(task(completed, "hi"))}})
			r.script.answer(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, card(r.script.URL)) }, nil)
			res, err := r.run(t.Context())
			want := CodeCard
			if name == "5 MiB" {
				want = CodeTooLarge
			}
			if got := termination(res, err); got.Code != want {
				t.Errorf("it ends by %+v", got)
			}
			if n := len(r.script.got(methodStream)); n != 0 || heard() != "" {
				t.Errorf("the peer is asked %d times, another host is sent %q", n, heard())
			}
			checkTurn(t, r, res, err)
		})
	}
}

// endless streams events that a peer makes up until the client goes away.
func endless(make func(n int) a2a.Event) reply {
	return func(w http.ResponseWriter, c *request) {
		sendEvents(w, task(working, ""))
		for n := 0; c.ctx.Err() == nil; n++ {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", envelope("result", a2a.StreamResponse{Event: make(n)})); err != nil {
				return
			}
		}
	}
}

// watchHeap returns how much larger the heap has been than it was, in bytes.
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

// A peer that does not stop is stopped: what it sends is kept within bounds.
func TestAPeerThatFloods(t *testing.T) {
	const limit, room = 1 << 20, 48 << 20
	for name, flood := range map[string]func(n int) a2a.Event{
		"text":              func(int) a2a.Event { return words(strings.Repeat("x", 10_000)) },
		"artifacts":         func(n int) a2a.Event { return chunk(a2a.ArtifactID(fmt.Sprint(n)), false) },
		"files":             func(int) a2a.Event { return chunk("a", true, a2a.NewRawPart([]byte{1})) },
		"states":            func(n int) a2a.Event { return turned(working, fmt.Sprint(n)) },
		"what has been":     func(int) a2a.Event { return turned(working, "") },
		"the same artifact": func(int) a2a.Event { return chunk("a", false, a2a.NewTextPart(strings.Repeat("x", 1000))) },
		"turns":             func(n int) a2a.Event { return chunk(a2a.ArtifactID(fmt.Sprint(n%2)), true, a2a.NewTextPart("x")) },
		"snapshots":         func(n int) a2a.Event { return task(working, fmt.Sprint("text ", n)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string][]reply{methodStream: {endless(flood)}, methodCancel: {result(task(a2a.TaskStateCanceled, ""))}})
			r.remote.peer.options.maxOutputBytes = limit
			r.remote.peer.endpoint.Timeout = new(spec.Duration(500 * time.Millisecond))
			most := watchHeap(t)
			begun := time.Now()
			res, err := r.run(t.Context())
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("it takes %s", took)
			}
			if grown := most(); grown > room {
				t.Errorf("it takes %d bytes", grown)
			}
			if got := termination(res, err); got.Code != CodeTooLarge && got.Code != "timeout" {
				t.Errorf("it ends by %+v", got)
			}
			shown := 0
			for _, data := range r.host.events {
				if d, ok := data.(*event.TextDelta); ok {
					shown += len(d.Delta)
				}
			}
			if shown > 2*limit || len(r.host.events) > 3*limit/overhead {
				t.Errorf("%d bytes are shown in %d events", shown, len(r.host.events))
			}
			if n := len(r.script.got(methodCancel)); n != 1 {
				t.Errorf("the task is ended at the peer %d times", n)
			}
		})
	}
}

func TestATurnThatTakesTooLongEndsAtThePeerToo(t *testing.T) {
	t.Parallel()
	for name, replies := range map[string]map[string][]reply{
		"while it is followed":    {methodStream: {openStream(task(working, ""), words("half"))}},
		"while it is looked for":  {methodStream: {answers(501)}, methodSend: {sent(task(working, "half"))}, methodGet: {result(task(working, "half"))}},
		"while nothing works":     {methodStream: {streamOf(task(working, ""), words("half"))}, methodSubscribe: {answers(503)}, methodGet: {answers(503)}},
		"while the peer is slow":  {methodStream: {streamOf(task(working, ""), words("half"))}, methodSubscribe: {hang}},
		"while it is to wait":     {methodStream: {streamOf(task(working, ""), words("half"))}, methodSubscribe: {answers(429, "Retry-After", "3600")}},
		"although it makes noise": {methodStream: {endless(func(int) a2a.Event { return turned("TASK_STATE_ODD", "") })}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replies[methodCancel] = []reply{answers(503), result(task(a2a.TaskStateCanceled, ""))}
			r := newRig(t, replies)
			r.remote.peer.endpoint.Timeout = new(spec.Duration(time.Second)) // within which the message arrives
			res, err := r.run(t.Context())
			got := termination(res, err)
			if got.Type != event.Failed || got.Code != string(model.Timeout) {
				t.Errorf("it ends by %+v", got)
			}
			if n := len(r.script.got(methodCancel)); n != 2 {
				t.Errorf("the task is ended at the peer %d times", n)
			}
			checkTurn(t, r, res, err)
		})
	}
}

func TestWhoseTimeIsUp(t *testing.T) {
	t.Parallel()
	replies := func() map[string][]reply {
		return map[string][]reply{methodStream: {openStream(task(working, ""))}, methodCancel: {result(task(a2a.TaskStateCanceled, ""))}}
	}
	r := newRig(t, replies())
	r.job.Meter = backend.NewMeter(nil, &spec.Budgets{MaxDuration: new(spec.Duration(time.Second))}, backend.Spent{})
	res, err := r.run(t.Context())
	if got := termination(res, err); got.Type != event.BudgetExceeded || got.Code != backend.BudgetDuration || len(r.script.got(methodCancel)) != 1 {
		t.Errorf("a budget ends it by %+v", got)
	}
	r = newRig(t, replies())
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	res, err = r.run(ctx)
	if got := termination(res, err); got.Code != string(model.Timeout) || !errors.Is(err, context.DeadlineExceeded) || len(r.script.got(methodCancel)) != 1 {
		t.Errorf("the caller's deadline ends it by %+v: %v", got, err)
	}
}
