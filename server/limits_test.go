package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
)

func TestAClientThatSendsItsHeaderTooSlowlyIsHungUpOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, server.Settings{})
		c := s.dial(t)
		began := time.Now()
		var sending sync.WaitGroup
		sending.Go(func() { drip(c, "GET /healthz HTTP/1.1\r\n", "X: 1\r\n") })
		if _, err := io.ReadAll(c); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != settings.DefaultReadHeaderTimeout {
			t.Errorf("it took %s", took)
		}
		sending.Wait()
	})
}

// drip sends the beginning of a request, and then a piece each second until the
// server hangs up.
func drip(c net.Conn, begin, piece string) {
	for _, err := io.WriteString(c, begin); err == nil; _, err = io.WriteString(c, piece) {
		time.Sleep(time.Second)
	}
}

func TestAConnectionThatIsIdleIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, server.Settings{Limits: server.Limits{IdleTimeout: time.Hour}})
		c := s.dial(t)
		if got, err := raw(t, c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); got.status != http.StatusOK || err != nil {
			t.Fatal(got, err)
		}
		began := time.Now()
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("it took %s", took)
		}
	})
}

func TestABodyThatComesTooSlowlyIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read := make(chan error, 1)
		s := start(t, server.Settings{}, server.Route{Pattern: "POST /read", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			read <- err
		})})
		c := s.dial(t)
		began := time.Now()
		var sending sync.WaitGroup
		sending.Go(func() { drip(c, "POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", "x") })
		go func() { _, _ = io.Copy(io.Discard, c) }()
		var slow net.Error
		if err := <-read; !errors.As(err, &slow) || !slow.Timeout() {
			t.Errorf("reading ended with %v", err)
		}
		if took := time.Since(began); took != settings.DefaultReadTimeout {
			t.Errorf("it took %s", took)
		}
		sending.Wait()
	})
}

// patient reads the body, waits for longer than any limit, and answers in two
// parts.
var patient = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	for _, part := range []string{string(text), " and on"} {
		select {
		case <-time.After(time.Hour):
		case <-r.Context().Done():
			err = errors.Join(err, context.Cause(r.Context()))
		}
		_, _ = io.WriteString(w, part)
		err = errors.Join(err, http.NewResponseController(w).Flush())
	}
	if err != nil {
		_, _ = fmt.Fprint(w, err)
	}
})

func TestAResponseMayTakeAsLongAsItLikes(t *testing.T) {
	t.Parallel()
	certificate := certified(t)
	for name, settings := range map[string]server.Settings{
		"HTTP/1.1": {},
		"HTTP/2.0": {TLS: certificate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := start(t, settings, server.Route{Pattern: "POST /patient", Handler: patient, Stream: true})
				client, scheme := s.client(t), "http"
				if settings.TLS != nil {
					transport, _ := client.Transport.(*http.Transport)
					transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
					transport.ForceAttemptHTTP2 = true
					scheme = "https"
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+"://localhost/patient", strings.NewReader("on"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "on and on" || resp.Proto != name {
					t.Errorf("%s: %q, %v", resp.Proto, text, err)
				}
			})
		})
	}
}

// certified returns what a server with a certificate needs.
func certified(t *testing.T) *tls.Config {
	t.Helper()
	other := httptest.NewUnstartedServer(nil)
	other.EnableHTTP2 = true
	other.StartTLS()
	defer other.Close()
	return &tls.Config{Certificates: other.TLS.Certificates, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

func TestAClientThatStopsReadingEndsItsStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		s := start(t, server.Settings{}, server.Route{Pattern: "GET /flood", Stream: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			piece := make([]byte, 1<<10)
			for {
				if _, err := w.Write(piece); err != nil {
					<-r.Context().Done() // an idle handler notices it, too
					ended <- err
					return
				}
			}
		})})
		c := s.dial(t)
		began := time.Now()
		if _, err := io.WriteString(c, "GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		var slow net.Error
		if err := <-ended; !errors.As(err, &slow) || !slow.Timeout() {
			t.Errorf("writing ended with %v", err)
		}
		if took := time.Since(began); took != settings.DefaultWriteTimeout {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAStalledReaderDelaysNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, server.Settings{}, server.Route{Pattern: "GET /flood", Stream: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, err := w.Write(make([]byte, 1<<20)); err == nil; _, err = w.Write(make([]byte, 1<<20)) {
			}
		})})
		stalled := s.dial(t)
		began := time.Now()
		if _, err := io.WriteString(stalled, "GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := s.ask(t, "GET /healthz", ""); got.status != http.StatusOK || time.Since(began) > 0 {
			t.Errorf("status %d after %s", got.status, time.Since(began))
		}
	})
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	var read atomicError
	s := start(t, server.Settings{Limits: server.Limits{MaxBodyBytes: 8}}, server.Route{Pattern: "POST /read", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		read.set(err)
		_, _ = w.Write(text)
	})})
	if got := s.ask(t, "POST /read", "12345678"); got.body != "12345678" || read.get() != nil {
		t.Errorf("%s, %v", got.body, read.get())
	}
	if got := s.ask(t, "POST /read", "123456789"); got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "the body has 9 bytes; at most 8 are allowed") {
		t.Errorf("%d %s", got.status, got.body)
	}
	got, err := raw(t, s.dial(t), "POST /read HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n6\r\n789012\r\n0\r\n\r\n")
	if err != nil || got.body != "12345678" {
		t.Errorf("%q, %v", got.body, err)
	}
	var large *http.MaxBytesError
	if !errors.As(read.get(), &large) || large.Limit != 8 || !got.last {
		t.Errorf("reading ended with %v, the connection closes: %v", read.get(), got.last)
	}
}

func TestAHeaderThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Limits: server.Limits{MaxHeaderBytes: 1 << 10}})
	got, err := raw(t, s.dial(t), "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 8<<10)+"\r\n\r\n")
	if got.status != http.StatusRequestHeaderFieldsTooLarge || err != nil {
		t.Error(got, err)
	}
}

func TestEachKeyHasARateOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, server.Settings{Authenticator: keys(), Rate: server.Rate{PerSecond: 0.5, Burst: 2}}, exposed...)
		ask := func(key string) answer { return s.ask(t, "POST /private", "", "X-API-Key", key) }
		for range 2 {
			if got := ask(goodKey); got.status != http.StatusOK {
				t.Fatal(got)
			}
		}
		got := ask(goodKey)
		if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "2" || !strings.Contains(got.body, "rate_limited") {
			t.Errorf("%d, again after %s: %s", got.status, got.header.Get("Retry-After"), got.body)
		}
		if leave, err := s.Enter(&server.Principal{KeyID: "good"}); leave != nil || !reflect.DeepEqual(err, &server.RateError{RetryAfter: 2 * time.Second}) {
			t.Errorf("by another way it gets %v", err)
		}
		if got := ask(scopedKey); got.status != http.StatusOK {
			t.Errorf("another key gets %d", got.status)
		}
		if got := ask("wrong"); got.status != http.StatusUnauthorized {
			t.Errorf("a wrong key gets %d", got.status)
		}
		time.Sleep(2 * time.Second)
		if got := ask(goodKey); got.status != http.StatusOK {
			t.Errorf("later it is %d", got.status)
		}
	})
}

func TestEachKeyHasSoManyOpenRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := start(t, server.Settings{Authenticator: keys(), Rate: server.Rate{Concurrency: 1}}, server.Route{
			Pattern: "GET /wait", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }),
		})
		first := make(chan int)
		go func() { first <- s.ask(t, "GET /wait", "", "X-API-Key", goodKey).status }()
		synctest.Wait()
		if got := s.ask(t, "GET /wait", "", "X-API-Key", goodKey); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" || !strings.Contains(got.body, "open at the same time") {
			t.Errorf("a second request gets %d: %s", got.status, got.body)
		}
		close(release)
		if status := <-first; status != http.StatusOK {
			t.Errorf("the first request gets %d", status)
		}
		if got := s.ask(t, "GET /wait", "", "X-API-Key", goodKey); got.status != http.StatusOK {
			t.Errorf("the next request gets %d", got.status)
		}
	})
}
