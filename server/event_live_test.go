package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server"
)

// feed is a log that a test writes while one client follows it.
type feed struct {
	news chan event.Record
	// ended is how the stream ended.
	ended chan error
}

func newFeed() *feed { return &feed{news: make(chan event.Record, 1), ended: make(chan error, 1)} }

// say adds an event.
func (f *feed) say(seq uint64, kind event.Type) { f.news <- event.Record{Seq: seq, Type: kind} }

// batches waits as service.Follower does.
func (f *feed) batches(ctx context.Context, idle time.Duration) iter.Seq2[[]event.Record, error] {
	return func(yield func([]event.Record, error) bool) {
		for {
			select {
			case one := <-f.news:
				if !yield([]event.Record{one}, nil) || one.Terminal() {
					return
				}
			case <-time.After(idle):
				if !yield(nil, nil) {
					return
				}
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

// route follows the feed as a surface does.
func (f *feed) route() server.Route {
	return server.Route{Pattern: "GET /events", Stream: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeEvents(w, r, f.serve)
	})}
}

// serve sends the feed.
func (f *feed) serve(ctx context.Context, out *server.EventStream) {
	err := out.Follow(f.batches(ctx, time.Minute), writeSeq)
	f.ended <- err
	if err != nil && !errors.Is(err, server.ErrClientGone) {
		panic(http.ErrAbortHandler)
	}
}

const askEvents = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"

// open asks for the events of the feed and returns the body of the answer.
func open(t *testing.T, c net.Conn, request string) io.Reader {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil) //nolint:bodyclose // that would read on
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || len(resp.TransferEncoding) != 1 || resp.Header.Get("X-Request-Id") == "" {
		t.Fatal(resp.Status, resp.TransferEncoding, resp.Header)
	}
	return resp.Body
}

// heard is what is read next of a stream.
func heard(t *testing.T, body io.Reader) string {
	t.Helper()
	b := make([]byte, 100)
	n, err := body.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestAConnectionServesOneStreamAfterAnother(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]server.Settings{"plain": {}, "TLS": {TLS: certified(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log, lines := logger()
				settings.Logger = log
				f := newFeed()
				s := start(t, settings, f.route())
				c := s.dial(t)
				if settings.TLS != nil {
					c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}) //nolint:gosec // the test made the certificate
				}
				for range 3 {
					body := open(t, c, askEvents)
					f.say(1, event.TypeTextDelta)
					if got := heard(t, body); got != "1;" {
						t.Errorf("news are %q", got)
					}
					began := time.Now()
					if got := heard(t, body); got != ": keep-alive\n\n" || time.Since(began) != time.Minute {
						t.Errorf("after %s it sends %q", time.Since(began), got)
					}
					f.say(2, event.TypeRunFinish)
					if rest, err := io.ReadAll(body); err != nil || string(rest) != "2;" {
						t.Errorf("it ends with %q, %v", rest, err)
					}
					if err := <-f.ended; err != nil {
						t.Error(err)
					}
				}
				synctest.Wait()
				if all := lines.all(); len(all) != 3 || all[2]["status"] != 200.0 || all[2]["bytes"] != 18.0 || all[2]["cut_short"] != nil || all[2]["duration"] != 60.0 {
					t.Errorf("the log is %v", all)
				}
				if got, err := raw(t, c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); got.status != http.StatusOK || err != nil {
					t.Error(got, err)
				}
			})
		})
	}
}

func TestAClientThatLeavesAnIdleStreamIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, lines := logger()
		f := newFeed()
		s := start(t, server.Settings{Authenticator: keys(), Rate: server.Rate{Concurrency: 1}, Logger: log}, f.route())
		c, began := s.dial(t), time.Now()
		request := strings.Replace(askEvents, "\r\n\r\n", "\r\nX-API-Key: "+goodKey+"\r\n\r\n", 1)
		open(t, c, request)
		if got, _ := raw(t, s.dial(t), request); got.status != http.StatusTooManyRequests {
			t.Errorf("a second one gets %d while the first is open", got.status)
		}
		_ = c.Close()
		if err := <-f.ended; !errors.Is(err, server.ErrClientGone) {
			t.Errorf("it ended with %v", err)
		}
		synctest.Wait()
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %s", took)
		}
		if all := lines.all(); len(all) != 2 || all[1]["cut_short"] != true {
			t.Errorf("the log is %v", all)
		}
		open(t, s.dial(t), request) // it counts no more
	})
}

func TestDrainingEndsIdleStreamsAndWaitsForThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		s := start(t, server.Settings{}, f.route())
		body := open(t, s.dial(t), askEvents)
		s.stop()
		synctest.Wait()
		f.say(1, event.TypeTextDelta)
		if got := heard(t, body); got != "1;" {
			t.Errorf("it says %q", got)
		}
		go func() { _, _ = io.Copy(io.Discard, body) }()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		select {
		case err := <-f.ended:
			if !errors.Is(err, server.ErrDraining) {
				t.Errorf("it ended with %v", err)
			}
		default:
			t.Error("it was not waited for")
		}
	})
}

// A stream that was cut off must not look whole.
func TestAStreamThatPanicsIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, lines := logger()
		s := start(t, server.Settings{Logger: log}, server.Route{Pattern: "GET /events", Stream: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			server.ServeEvents(w, r, func(context.Context, *server.EventStream) { panic("a fault") })
		})})
		body := open(t, s.dial(t), askEvents)
		if rest, err := io.ReadAll(body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("it ends with %q, %v", rest, err)
		}
		synctest.Wait()
		if all := lines.all(); len(all) != 2 || all[0]["panic"] != "a fault" || all[1]["cut_short"] != true {
			t.Errorf("the log is %v", all)
		}
	})
}

func TestAClientThatTakesNothingOfAStreamIsHungUpOn(t *testing.T) {
	t.Parallel()
	for name, shutdown := range map[string]bool{"in time": false, "when the server ends": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFeed()
				s := start(t, server.Settings{}, f.route())
				open(t, s.dial(t), askEvents)
				synctest.Wait()
				began, most := time.Now(), settings.DefaultWriteTimeout
				f.say(1, event.TypeTextDelta)
				synctest.Wait()
				if shutdown {
					most = time.Second
					s.stop()
					ctx, cancel := context.WithTimeout(t.Context(), most)
					defer cancel()
					if err := s.Shutdown(ctx); !errors.Is(err, server.ErrCutShort) {
						t.Errorf("shutdown: %v", err)
					}
				}
				if err := <-f.ended; !errors.Is(err, server.ErrClientGone) {
					t.Errorf("it ended with %v", err)
				}
				if took := time.Since(began); took != most {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

func TestAStreamIsServedOverEachProtocol(t *testing.T) {
	t.Parallel()
	f := newFeed()
	s := start(t, server.Settings{}, f.route())
	f.say(1, event.TypeRunFinish)
	if got, err := raw(t, s.dial(t), "GET /events HTTP/1.0\r\nHost: localhost\r\n\r\n"); got.status != http.StatusOK || got.body != "1;" || err != nil {
		t.Errorf("HTTP/1.0: %v %v", got, err)
	}
	f = newFeed()
	s = start(t, server.Settings{TLS: certified(t)}, f.route())
	f.say(1, event.TypeRunFinish)
	if status := s.secure(t).get(t, "/events"); status != http.StatusOK || <-f.ended != nil {
		t.Errorf("HTTP/2: %d", status)
	}
}
