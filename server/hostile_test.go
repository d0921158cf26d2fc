package server_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/server"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func TestAHandshakeThatComesTooSlowlyIsCutOff(t *testing.T) {
	t.Parallel()
	certificate := certified(t)
	synctest.Test(t, func(t *testing.T) {
		s := start(t, server.Settings{TLS: certificate})
		c := s.dial(t)
		began := time.Now()
		var sending sync.WaitGroup
		// The header of a record of 512 bytes, and then one byte each second.
		sending.Go(func() { drip(c, "\x16\x03\x01\x02\x00\x01", "\x00") })
		_, _ = io.Copy(io.Discard, c)
		if took := time.Since(began); took > settings.DefaultReadHeaderTimeout {
			t.Errorf("it took %s", took)
		}
		sending.Wait()
	})
}

// bodies answers with the body, and counts the requests.
func bodies(n *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		text, err := io.ReadAll(r.Body)
		if err != nil {
			server.WriteError(w, &server.Error{Status: http.StatusBadRequest, Code: "bad", Message: err.Error()})
			return
		}
		_, _ = w.Write(text)
	})
}

// A proxy in front of the server must not find other requests in the same bytes:
// what can be read in two ways is refused, and the connection closed.
func TestRequestsThatCanBeReadInTwoWaysAreRefused(t *testing.T) {
	t.Parallel()
	var read, smuggled atomic.Int64
	s := start(t, server.Settings{},
		server.Route{Pattern: "POST /read", Handler: bodies(&read)}, server.Route{Pattern: "GET /smuggled", Handler: bodies(&smuggled)})
	const second = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, head := range map[string]string{
		"two lengths":               "Content-Length: 0\r\nContent-Length: 44\r\n",
		"a list of lengths":         "Content-Length: 0, 44\r\n",
		"a length with a sign":      "Content-Length: +0\r\n",
		"a negative length":         "Content-Length: -1\r\n",
		"a hexadecimal length":      "Content-Length: 0x0\r\n",
		"a length beyond numbers":   "Content-Length: 99999999999999999999\r\n",
		"another coding":            "Transfer-Encoding: xchunked\r\n",
		"two codings":               "Transfer-Encoding: gzip, chunked\r\n",
		"a coding twice":            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"no coding and a length":    "Transfer-Encoding: identity\r\nContent-Length: 0\r\n",
		"a coding with a control":   "Transfer-Encoding: \x0bchunked\r\nContent-Length: 0\r\n",
		"a space before a colon":    "Transfer-Encoding : chunked\r\nContent-Length: 0\r\n",
		"a space in a name":         "Content Length: 0\r\n",
		"a name of nothing":         ": x\r\n",
		"a zero in a value":         "X: a\x00b\r\n",
		"a carriage return":         "X: a\rContent-Length: 44\r\n",
		"two hosts":                 "Host: other\r\n",
		"a chunk of no number":      "Transfer-Encoding: chunked\r\n\r\nx\r\n",
		"a chunk with a sign":       "Transfer-Encoding: chunked\r\n\r\n+0\r\n",
		"a chunk beyond numbers":    "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
		"a chunk longer than it is": "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n",
	} {
		got, _ := raw(t, s.dial(t), "POST /read HTTP/1.1\r\nHost: localhost\r\n"+head+"\r\n"+second)
		if got.status < 400 || !got.last {
			t.Errorf("%s: %d, the connection closes: %v", name, got.status, got.last)
		}
	}
	for name, request := range map[string]string{
		"no host":                 "POST /read HTTP/1.1\r\n\r\n",
		"a host with a path":      "POST /read HTTP/1.1\r\nHost: localhost/x\r\n\r\n",
		"a host with a space":     "POST /read HTTP/1.1\r\nHost: local host\r\n\r\n",
		"a version of the future": "POST /read HTTP/3.0\r\nHost: localhost\r\n\r\n",
		"no version":              "POST /read\r\n\r\n",
		"a method with a space":   "POST X /read HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"a control in the target": "POST /re\x01ad HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"a target of nothing":     "POST  HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"another protocol":        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"a long target":           "POST /" + strings.Repeat("x", 128<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		got, _ := raw(t, s.dial(t), request+second)
		if got.status < 400 || !got.last {
			t.Errorf("%s: %d, the connection closes: %v", name, got.status, got.last)
		}
	}
	if n := smuggled.Load(); n > 0 {
		t.Errorf("%d smuggled requests were found", n)
	}
}

// A request with a length and a coding is refused wherever it stands among others,
// and however it comes over the wire.
func TestARequestWithALengthAndACodingIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("in the clear", func(t *testing.T) {
		t.Parallel()
		refuseLengthAndCoding(t, server.Settings{}, func(c net.Conn) net.Conn { return c })
	})
	for name, protocols := range map[string][]string{"over TLS": nil, "over TLS, as agreed": {"http/1.1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuseLengthAndCoding(t, server.Settings{TLS: certified(t)}, func(c net.Conn) net.Conn {
				return tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}) //nolint:gosec // the test made the certificate
			})
		})
	}
}

func refuseLengthAndCoding(t *testing.T, settings server.Settings, wrap func(net.Conn) net.Conn) {
	t.Helper()
	var read, smuggled atomic.Int64
	s := start(t, settings,
		server.Route{Pattern: "POST /read", Handler: bodies(&read)}, server.Route{Pattern: "GET /smuggled", Handler: bodies(&smuggled)})
	const inner = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\nX: y"
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(inner), inner)
	const head = "POST /read HTTP/1.1\r\nHost: localhost\r\n"
	for name, text := range map[string]string{
		"a length before":         head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked,
		"a length after it":       head + "transfer-encoding: chunked\r\ncontent-length: 9999\r\n\r\n" + chunked,
		"lines without returns":   strings.ReplaceAll(head, "\r", "") + "Content-Length: 4\nTransfer-Encoding: chunked\n\n" + chunked,
		"a length far to the end": head + "Content-Length:" + strings.Repeat(" ", 200) + "4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked,
		"an old version":          "POST /read HTTP/1.0\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		got, _ := raw(t, wrap(s.dial(t)), text)
		if got.status != http.StatusBadRequest || !got.last {
			t.Errorf("%s: %d %q, the connection closes: %v", name, got.status, got.body, got.last)
		}
	}
	c := wrap(s.dial(t))
	for range 2 { // what only looks like one is in a body
		body := "x\r\n\r\nPOST /read HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
		if got, err := raw(t, c, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)); err != nil || got.status != http.StatusOK || got.body != body {
			t.Fatalf("%d %q, %v", got.status, got.body, err)
		}
	}
	if got, _ := raw(t, c, head+"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"+chunked); got.status != http.StatusBadRequest || !got.last {
		t.Errorf("smuggled: %d, the connection closes: %v", got.status, got.last)
	}
	if got, err := raw(t, wrap(s.dial(t)), head+"Transfer-Encoding: chunked\r\n\r\n"+chunked); err != nil || got.status != http.StatusOK || got.body != inner || !got.last {
		t.Errorf("a coding alone: %d %q, %v, the connection closes: %v", got.status, got.body, err, got.last)
	}
	if n := smuggled.Load(); n > 0 {
		t.Errorf("%d requests were found in others", n)
	}
}

// A page of another site may have a name that leads here.
func TestNamesThatAreNotThisMachine(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{}, server.Route{Pattern: "GET /private", Handler: echo})
	ask := func(line, headers string) int {
		t.Helper()
		got, _ := raw(t, s.dial(t), line+"\r\n"+headers+"\r\n")
		return got.status
	}
	for _, host := range []string{
		"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:80", "xlocalhost", "0x7f.1", "2130706433", "[::ffff:8.8.8.8]", "", "127.0.0.1@evil.example", "localhost, evil.example",
	} {
		if status := ask("GET /private HTTP/1.1", "Host: "+host+"\r\nX-Forwarded-Host: localhost\r\n"); status != http.StatusForbidden && status != http.StatusBadRequest {
			t.Errorf("%s is answered with %d", host, status)
		}
	}
	for _, line := range []string{"GET http://evil.example/private HTTP/1.1", "GET http://evil.example:80/private HTTP/1.1", "GET //evil.example/private HTTP/1.1"} {
		if status := ask(line, "Host: localhost\r\n"); status == http.StatusOK {
			t.Errorf("%s is answered", line)
		}
	}
	if status := ask("GET /private HTTP/1.0", ""); status != http.StatusForbidden {
		t.Errorf("no name is answered with %d", status)
	}
	for _, host := range []string{"localhost", "LOCALHOST:1", "127.0.0.1:1", "[::1]:1", "app.localhost"} {
		if status := ask("GET http://"+host+"/private HTTP/1.1", "Host: "+host+"\r\n"); status != http.StatusOK {
			t.Errorf("%s is answered with %d", host, status)
		}
	}
}

// frames opens a connection of HTTP/2, and returns what writes its frames. What
// the server says is read until it hangs up, and then over is closed.
func frames(t *testing.T, s *running) (out *http2.Framer, c net.Conn, over <-chan struct{}) {
	t.Helper()
	c = tls.Client(s.dial(t), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // the test made the certificate
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	out = http2.NewFramer(c, c)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, c)
	}()
	if err := out.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return out, c, ended
}

// header returns the header of a request of HTTP/2.
func header(path string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "localhost"}, {Name: ":path", Value: path}} {
		_ = e.WriteField(f) // a buffer takes everything
	}
	return b.Bytes()
}

// TestBothVersionsOfHTTPAreSpokenOverTLS asks in both, and over a connection that
// agrees on neither.
func TestBothVersionsOfHTTPAreSpokenOverTLS(t *testing.T) {
	t.Parallel()
	config := certified(t)
	config.NextProtos = nil // they are offered all the same
	s := start(t, server.Settings{TLS: config}, server.Route{Pattern: "GET /version", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Proto, " ", r.TLS != nil)
	})})
	for want, protocols := range map[string][]string{"HTTP/2.0 true": {"h2", "http/1.1"}, "HTTP/1.1 true": {"http/1.1"}} {
		client := s.secure(t)
		transport := client.Transport.(*http.Transport)
		transport.TLSClientConfig.NextProtos, transport.ForceAttemptHTTP2 = protocols, len(protocols) > 1
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost/version", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(text) != want || err != nil {
			t.Errorf("%v: %s, %v", protocols, text, err)
		}
	}
}

// TestHandshakesThatHangEndWithTheServer leaves silent connections open.
func TestHandshakesThatHangEndWithTheServer(t *testing.T) {
	t.Parallel()
	certificate := certified(t)
	synctest.Test(t, func(t *testing.T) {
		s := start(t, server.Settings{TLS: certificate})
		began := time.Now()
		var hanging []net.Conn
		for range 3 {
			hanging = append(hanging, s.dial(t))
		}
		synctest.Wait()
		s.end(t)
		for _, c := range hanging {
			if n, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("%d bytes came", n)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the end took %s", took)
		}
	})
}

func TestStreamsThatAreResetAtOnceDoNotPileUp(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	s := start(t, server.Settings{TLS: certified(t)}, server.Route{Pattern: "GET /wait", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-r.Context().Done()
	})})
	out, c, over := frames(t, s)
	const streams = 5000
	sent := 0
	for ; sent < streams; sent++ {
		id := uint32(2*sent + 1)
		if out.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: header("/wait"), EndStream: true, EndHeaders: true}) != nil {
			break
		}
		if out.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
	}
	if n := most.Load(); n > 1000 {
		t.Errorf("%d of %d streams were worked on at the same time", n, sent)
	}
	_ = c.Close()
	<-over
	if got := s.secure(t).get(t, "/healthz"); got != http.StatusOK {
		t.Errorf("others are answered with %d", got)
	}
}

func TestAHeaderWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{TLS: certified(t)})
	out, c, over := frames(t, s)
	defer c.Close()
	if err := out.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header("/healthz")}); err != nil {
		t.Fatal(err)
	}
	var field bytes.Buffer
	_ = hpack.NewEncoder(&field).WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 1<<10), Sensitive: true})
	sent := 0
	for ; sent < 16<<20; sent += field.Len() {
		if out.WriteContinuation(1, false, field.Bytes()) != nil {
			break
		}
	}
	if most := 4 << 20; sent > most {
		t.Errorf("%d bytes of one header were taken in", sent)
	}
	<-over
}

// secure returns a client that speaks TLS.
func (r *running) secure(t *testing.T) *secureClient {
	t.Helper()
	transport := &http.Transport{
		DialContext:       r.client(t).Transport.(*http.Transport).DialContext,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test made the certificate
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &secureClient{http.Client{Transport: transport}}
}

type secureClient struct{ http.Client }

// get returns the status of a page.
func (c *secureClient) get(t *testing.T, path string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
