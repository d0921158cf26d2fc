package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/server"
)

// atomicError is an error that a handler leaves for its test.
type atomicError struct {
	mu  sync.Mutex
	err error
}

func (a *atomicError) set(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

func (a *atomicError) get() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// untilTold says hello, and goodbye once its context ends.
var untilTold = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "hello ")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	_, _ = io.WriteString(w, context.Cause(r.Context()).Error())
})

func TestDrainingEndsStreamsAndWaitsForTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := start(t, server.Settings{},
			server.Route{Pattern: "GET /stream", Handler: untilTold, Stream: true},
			server.Route{Pattern: "GET /wait", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				<-release
				if r.Context().Err() == nil {
					_, _ = io.WriteString(w, "done")
				}
			})})
		stream, wait := make(chan string, 1), make(chan string, 1)
		go func() { stream <- s.ask(t, "GET /stream", "").body }()
		go func() { wait <- s.ask(t, "GET /wait", "").body }()
		synctest.Wait()

		s.stop()
		synctest.Wait()
		if _, err := s.conns.dial(); err == nil {
			t.Error("connections are still accepted")
		}
		select {
		case text := <-stream:
			t.Errorf("the stream ended early: %s", text)
		default:
		}

		ended := make(chan error, 1)
		go func() { ended <- s.Shutdown(t.Context()) }()
		if text := <-stream; text != "hello the server is shutting down" {
			t.Errorf("the stream said %q", text)
		}
		synctest.Wait()
		select {
		case err := <-ended:
			t.Errorf("the request was not waited for: %v", err)
		default:
		}
		close(release)
		if text := <-wait; text != "done" {
			t.Errorf("the request said %q", text)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestRequestsThatDoNotEndAreCutShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 1)
		s := start(t, server.Settings{}, server.Route{Pattern: "GET /wait", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			causes <- context.Cause(r.Context())
		})})
		go func() {
			if resp, err := s.client(t).Get("http://localhost/wait"); err == nil {
				_ = resp.Body.Close()
			}
		}()
		synctest.Wait()
		s.stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := s.Shutdown(ctx); !errors.Is(err, server.ErrCutShort) {
			t.Errorf("shutdown: %v", err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %s", took)
		}
		if cause := <-causes; !errors.Is(cause, server.ErrCutShort) {
			t.Errorf("the request ended with %v", cause)
		}
	})
}

func TestAServerSaysWhetherItIsReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken atomicError
		s := start(t, server.Settings{Authenticator: keys(), Ready: func(ctx context.Context) error {
			if err := broken.get(); err != nil {
				<-ctx.Done() // a store that hangs
				return err
			}
			return nil
		}})
		if got := s.ask(t, "GET /readyz", ""); got.status != http.StatusOK || got.body != "ready\n" {
			t.Error(got)
		}
		broken.set(errors.New("dial 10.0.0.7: no route"))
		began := time.Now()
		if got := s.ask(t, "GET /readyz", ""); got.status != http.StatusServiceUnavailable || got.body != "not ready\n" {
			t.Error(got)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it took %s", took)
		}
		if got := s.ask(t, "GET /healthz", ""); got.status != http.StatusOK {
			t.Error("a process whose store is away must not be restarted")
		}
		broken.set(nil)

		c := s.dial(t) // a connection from before
		synctest.Wait()
		s.stop()
		synctest.Wait()
		if got, _ := raw(t, c, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"); got.status != http.StatusServiceUnavailable || !got.last {
			t.Errorf("%d, the connection closes: %v", got.status, got.last)
		}
	})
}

// neighbour is a surface that listens elsewhere, too.
type neighbour struct {
	routes
	refuse error
	serve  error
	did    []string
	mu     sync.Mutex
}

func (n *neighbour) note(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.did = append(n.did, what)
}

// Listen is refused, or not.
func (n *neighbour) Listen(context.Context) error {
	n.note("listen")
	return n.refuse
}

// Serve fails, or ends with ctx.
func (n *neighbour) Serve(ctx context.Context) error {
	n.note("serve")
	if n.serve == nil {
		<-ctx.Done()
	}
	return n.serve
}

// Shutdown is noted.
func (n *neighbour) Shutdown(context.Context) error {
	n.note("shutdown")
	return nil
}

func TestASurfaceThatListensElsewhereLivesAndEndsWithTheServer(t *testing.T) {
	t.Parallel()
	fault := errors.New("the address is taken")
	s, err := server.New(server.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Mount(t.Context(), &neighbour{refuse: fault}); !errors.Is(err, fault) {
		t.Errorf("mounted: %v", err)
	}
	good, bad := &neighbour{}, &neighbour{serve: errors.New("the network is gone")}
	s.ListenOn(newPipes())
	for _, n := range []*neighbour{good, bad} {
		if err := s.Mount(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Serve(t.Context()); !errors.Is(err, bad.serve) {
		t.Errorf("served: %v", err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if len(good.did) != 3 || good.did[2] != "shutdown" {
		t.Errorf("the neighbour did %s", good.did)
	}
}

func TestProbesThatComeTogetherAskTheStoreOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		release := make(chan struct{})
		s := start(t, server.Settings{Authenticator: keys(), Ready: func(context.Context) error {
			asked.Add(1)
			<-release
			return nil
		}})
		statuses := make(chan int)
		for range 10 {
			go func() { statuses <- s.ask(t, "GET /readyz", "").status }()
		}
		synctest.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("the store is asked %d times", n)
		}
		close(release)
		for range 10 {
			if status := <-statuses; status != http.StatusOK {
				t.Errorf("one gets %d", status)
			}
		}
		if s.ask(t, "GET /readyz", ""); asked.Load() != 2 {
			t.Error("what was found out is kept")
		}
	})
}

func TestDrainingDoesNotWaitForConnectionsWithoutARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, server.Settings{})
		unused, err := s.conns.dial()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.stop()
		begun := time.Now()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took >= time.Second {
			t.Errorf("it takes %s", took)
		}
		if _, err := unused.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the connection ends with %v", err)
		}
	})
}
