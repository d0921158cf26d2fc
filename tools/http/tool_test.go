package http

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	base, requests := record(t, nil)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		tl := newTool(t, config{URL: "http://" + host + ":" + port, AllowPrivate: []string{"127.0.0.0/8"}})
		// Validation lets no such tool pass, so the guard is exchanged afterwards,
		// as a name would change what it resolves to.
		tl.client = newClient(new(netguard.Guard), tl.program)
		_, err := tl.Call(t.Context(), arg(`{}`))
		blocked, ok := errors.AsType[*netguard.BlockedError](err)
		if !ok {
			t.Fatalf("%s: error is %v, want a BlockedError", host, err)
		}
		contains(t, err.Error(), blocked.Host, "allow_private")
	}
	if n := len(requests); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAllowPrivateOpensAnAddress(t *testing.T) {
	t.Parallel()
	base, requests := record(t, nil)
	address := strings.TrimPrefix(base, "http://")
	_, port, _ := net.SplitHostPort(address)
	for _, tt := range []struct{ url, allow string }{
		{base, "127.0.0.1"},
		{base, "127.0.0.0/8"},
		{base, address},
		{"http://localhost:" + port, "localhost"},
		{"http://localhost:" + port, "localhost:" + port},
	} {
		text(t, newTool(t, config{URL: tt.url, AllowPrivate: []string{tt.allow}}), `{}`)
		if host := (<-requests).Host; !strings.HasSuffix(tt.url, "//"+host) {
			t.Errorf("%s: the host header is %s", tt.url, host)
		}
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		begin bool // of the answer, before it hangs
	}{{"before the answer", false}, {"within the answer", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entered := make(chan struct{})
			base, _ := record(t, func(w http.ResponseWriter, r *http.Request) {
				if tt.begin {
					_, _ = io.WriteString(w, "beginning")
					_ = http.NewResponseController(w).Flush()
				}
				close(entered)
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-entered; cancel() }()
			_, err := newTool(t, config{URL: base + "/?key=hunter2"}).Call(ctx, arg(`{}`))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error is %v, want it to be canceled", err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats the URL: %v", err)
			}
		})
	}
}

func TestDeadlineIsToldAsTheToolsTimeout(t *testing.T) {
	t.Parallel()
	base, _ := record(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	limit := spec.Duration(5 * time.Second)
	entry, list := toolset.Compile("test", newTool(t, config{URL: base, Timeout: &limit}), toolset.Source{Kind: toolset.SourceGlobal})
	if list.HasErrors() {
		t.Fatal(list)
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(20*time.Millisecond))
	defer cancel()
	result := entry.Execute(ctx, arg(`{}`))
	if got := model.PartsText(result.Content); got != entry.EndedText(context.DeadlineExceeded) || !result.IsError {
		t.Errorf("result is %q, want %q", got, entry.EndedText(context.DeadlineExceeded))
	}
}

func TestErrorsRepeatNoSecret(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	_ = l.Close()
	hangup, _ := record(t, func(w http.ResponseWriter, _ *http.Request) { hijack(t, w, "") })
	garbage, _ := record(t, func(w http.ResponseWriter, _ *http.Request) { hijack(t, w, "HTTP/1.1 what\r\n\r\n") })
	for _, base := range []string{closed, hangup, garbage, strings.Replace(closed, "http:", "https:", 1)} {
		tl := newTool(t, config{
			Method: "POST", URL: base + "/s3cr3t-path/{{a}}?key=s3cr3t-query",
			Headers: map[string]string{"X-Token": "s3cr3t-header"}, Query: map[string]string{"k": "s3cr3t-param"},
		})
		_, err := tl.Call(t.Context(), arg(`{"a":"s3cr3t-argument"}`))
		if err == nil {
			t.Fatalf("%s: no error", base)
		}
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the error repeats a secret: %v", err)
		}
		contains(t, err.Error(), "call 127.0.0.1: ")
	}
}

func TestFailedLookupDoesNotNameTheNameServer(t *testing.T) {
	t.Parallel()
	tl := newTool(t, config{URL: "http://a.example"})
	err := tl.withoutURL(t.Context(), &url.Error{Op: "Get", URL: "http://a.example/?key=hunter2", Err: &net.OpError{
		Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "a.example", Server: "10.0.0.53:53", IsNotFound: true},
	}})
	if want := "call a.example: lookup a.example: no such host"; err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

// hijack answers with raw bytes and hangs up.
func hijack(t *testing.T, w http.ResponseWriter, answer string) {
	t.Helper()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Errorf("hijack: %v", err)
		return
	}
	_, _ = io.WriteString(conn, answer)
	_ = conn.Close()
}

func TestSecretsThatAServerRepeatsAreHidden(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 404} {
		base, _ := record(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"padding":%q,"url":%q,"auth":%q,"accept":%q}`,
				strings.Repeat("x", 200), r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Accept"))
		})
		for limit := minOutput; limit < 480; limit++ {
			tl := newTool(t, config{
				URL: base + "/?appid=s3cr3t-a%2Fpp&q={{q}}", Query: map[string]string{"api_key": "s3cr3t/key"},
				Headers:   map[string]string{"Authorization": "Bearer s3cr3t-header", "Accept": "application/json"},
				MaxOutput: limit,
			})
			result := mustCall(t, tl, `{"q":"Paris"}`)
			got := model.PartsText(result.Content) + string(result.Data)
			if strings.Contains(got, "s3") {
				t.Fatalf("limit %d: the result repeats a secret: %s", limit, got)
			}
			if limit > 470 {
				contains(t, got, "Paris", `"auth":"***"`, "application/json")
			}
		}
	}
}

func TestSecretCutInTwoIsHidden(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-s3cr3t-s3cr3t-s3cr3t"
	base := respond(t, 200, "text/plain", strings.Repeat(secret+" ", 100))
	for limit := minOutput; limit < minOutput+2*len(secret); limit++ {
		tl := newTool(t, config{URL: base, Headers: map[string]string{"X-Api-Key": secret}, MaxOutput: limit})
		if got := text(t, tl, `{}`); strings.Contains(got, "s3") || len(got) > limit {
			t.Fatalf("limit %d: the result is %q", limit, got)
		}
	}
}

func TestOnceIsNeverRepeated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		config config
		want   int64 // requests that arrive for one call
	}{
		{config{Method: "POST"}, 1},
		{config{Method: "POST", Body: []byte(`null`)}, 1},
		{config{Method: "DELETE"}, 1},
		{config{Method: "POST", Headers: map[string]string{"Idempotency-Key": "a", "X-Idempotency-Key": "b"}}, 1},
		{config{Method: "GET", Effect: tools.Once}, 1},
		{config{Method: "HEAD", Effect: tools.Once}, 1},
		{config{Method: "POST", Effect: tools.Idempotent}, 2},
		{config{Method: "GET"}, 2},
	} {
		var arrived atomic.Int64
		tt.config.URL = hangUpOnSecond(t, &arrived)
		tl := newTool(t, tt.config)
		text(t, tl, `{}`)
		arrived.Store(0)
		if _, err := tl.Call(t.Context(), arg(`{}`)); (err != nil) != (tt.want == 1) && tt.config.Effect != tools.Once {
			t.Errorf("%s %s: error is %v", tt.config.Method, tt.config.Effect, err)
		}
		if n := arrived.Load(); n != tt.want {
			t.Errorf("%s %s: %d requests arrived, want %d", tt.config.Method, tt.config.Effect, n, tt.want)
		}
	}
}

// hangUpOnSecond returns a server that answers the first request of every
// connection and hangs up on the second, after it read it.
func hangUpOnSecond(t *testing.T, arrived *atomic.Int64) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { answerOnce(conn, arrived) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); conns.Wait() })
	return "http://" + l.Addr().String()
}

func answerOnce(conn net.Conn, arrived *atomic.Int64) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for i := range 2 {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		arrived.Add(1)
		if i == 0 {
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	}
}

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	base, _ := record(t, nil)
	tl := newTool(t, config{Method: "POST", URL: base})
	var reused int
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if info.Reused {
				reused++
			}
		},
	})
	const calls = 5
	for range calls {
		if _, err := tl.Call(ctx, arg(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	if reused != calls-1 {
		t.Errorf("%d of %d calls reused a connection", reused, calls)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	base, _ := record(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Query().Get("q")) })
	tl := newTool(t, config{URL: base + "/{{q}}?q={{q}}", Headers: map[string]string{"X-Q": "{{q}}"}})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			want := fmt.Sprint(i)
			result, err := tl.Call(t.Context(), arg(`{"q":`+want+`}`))
			if err != nil || model.PartsText(result.Content) != want {
				t.Errorf("call %s: %v %v", want, result, err)
			}
		})
	}
	wg.Wait()
}
