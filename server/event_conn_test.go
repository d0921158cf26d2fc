package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// feed is a log that a test writes while one client follows it.
type feed struct {
	mu     sync.Mutex
	news   []event.Record
	waiter service.Waiter
	// ended is how the stream ended.
	ended chan error
}

func newFeed() *feed { return &feed{ended: make(chan error, 1)} }

// say adds an event.
func (f *feed) say(seq uint64, kind event.Type) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news = append(f.news, event.Record{Seq: seq, Type: kind})
	if f.waiter != nil {
		f.waiter.Wake()
	}
}

func (f *feed) take() []event.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := f.news
	f.news = nil
	return news
}

// batches waits as service.Follower does.
func (f *feed) batches(ctx context.Context, w service.Waiter, idle time.Duration) iter.Seq2[[]event.Record, error] {
	return func(yield func([]event.Record, error) bool) {
		f.mu.Lock()
		f.waiter = w
		f.mu.Unlock()
		defer context.AfterFunc(ctx, w.Wake)()
		for {
			if news := f.take(); len(news) > 0 {
				if !yield(news, nil) || news[len(news)-1].Terminal() {
					return
				}
				continue
			}
			quiet, err := w.Wait(idle)
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if quiet && !yield(nil, nil) {
				return
			}
		}
	}
}

// route follows the feed as a surface does.
func (f *feed) route() server.Route { return f.routeFor(http.MethodGet) }

func (f *feed) routeFor(method string) server.Route {
	return server.Route{Pattern: method + " /events", Stream: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeEvents(w, r, f.serve)
	})}
}

// serve sends the feed.
func (f *feed) serve(ctx context.Context, out *server.EventStream) {
	if out.Waiter() == nil {
		f.ended <- errors.New("net/http keeps the connection")
		return
	}
	err := out.Follow(f.batches(ctx, out.Waiter(), time.Minute), writeSeq)
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

func TestAStreamGoesOnWithoutItsHandlerAndItsConnectionServesOn(t *testing.T) {
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

// What a client sends while it is streamed to is not answered, and is no way to keep
// the server busy.
func TestAClientThatSendsOnIsHungUpOn(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]struct {
		bytes int
		whole bool
	}{"another request": {100, true}, "without end": {128 << 10, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFeed()
				s := start(t, server.Settings{}, f.route())
				c := s.dial(t)
				body := open(t, c, askEvents)
				_, err := io.WriteString(c, strings.Repeat("x", sent.bytes))
				if whole := err == nil; whole != sent.whole {
					t.Errorf("it takes all: %v", err)
				}
				if sent.whole {
					f.say(1, event.TypeRunFinish)
					if rest, err := io.ReadAll(body); err != nil || string(rest) != "1;" {
						t.Errorf("it ends with %q, %v", rest, err)
					}
				}
				if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
					t.Errorf("the connection is open: %v", err)
				}
			})
		})
	}
}

func TestNoNewsAreMissedWhileAStreamBeginsToWait(t *testing.T) {
	t.Parallel()
	f := newFeed()
	s := start(t, server.Settings{}, f.route())
	body := bufio.NewReader(open(t, s.dial(t), askEvents))
	const events = 2000
	var said atomic.Uint64
	for range events {
		f.say(said.Add(1), event.TypeTextDelta)
		if got, err := body.ReadString(';'); err != nil || got != fmt.Sprintf("%d;", said.Load()) {
			t.Fatalf("event %d is %q, %v", said.Load(), got, err)
		}
	}
	f.say(said.Add(1), event.TypeRunFinish)
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Error(err)
	}
}

// A stream that a handler began goes on, too, once it has read the body of its request.
func TestAStreamThatHasBegunGoesOnWithoutItsHandler(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"sized":   "POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
		"chunked": "POST /events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"empty":   "POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log, lines := logger()
				f := newFeed()
				s := start(t, server.Settings{Logger: log}, server.Route{Pattern: "POST /events", Stream: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, err := io.Copy(io.Discard, r.Body)
					out, openErr := server.OpenEventStream(w)
					if err == nil && openErr == nil {
						err = out.Write(func(b *bytes.Buffer) error { b.WriteString("0;"); return nil })
					}
					if err != nil || openErr != nil {
						t.Error(err, openErr)
					}
					server.ContinueEvents(w, r, f.serve)
				})})
				c := s.dial(t)
				for range 3 {
					body := open(t, c, request)
					if got := heard(t, body); got != "0;" {
						t.Errorf("it begins with %q", got)
					}
					if got := heard(t, body); got != ": keep-alive\n\n" {
						t.Errorf("when nothing happens it sends %q", got)
					}
					f.say(1, event.TypeRunFinish)
					if rest, err := io.ReadAll(body); err != nil || string(rest) != "1;" {
						t.Errorf("it ends with %q, %v", rest, err)
					}
					if err := <-f.ended; err != nil {
						t.Error(err)
					}
				}
				synctest.Wait()
				if all := lines.all(); len(all) != 3 || all[2]["status"] != 200.0 || all[2]["bytes"] != 18.0 || all[2]["cut_short"] != nil {
					t.Errorf("the log is %v", all)
				}
			})
		})
	}
}

func TestOtherStreamsKeepTheirConnection(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"HTTP/1.0":  "GET /events HTTP/1.0\r\nHost: localhost\r\n\r\n",
		"no body":   "HEAD /events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"with body": "GET /events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
		"unread":    "POST /events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
		"to change": "PUT /events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
	} {
		f := newFeed()
		s := start(t, server.Settings{}, f.route(), f.routeFor(http.MethodPost), f.routeFor(http.MethodPut))
		if got, err := raw(t, s.dial(t), request); got.status != http.StatusOK || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v %v", name, got, err)
		}
		if err := <-f.ended; err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	f := newFeed()
	s := start(t, server.Settings{TLS: certified(t)}, f.route())
	if status := s.secure(t).get(t, "/events"); status != http.StatusOK || <-f.ended == nil {
		t.Errorf("HTTP/2: %d", status)
	}
}
