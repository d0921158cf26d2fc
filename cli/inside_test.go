package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// resolved is the address of all names in a test that requests it.
var resolved = net.IPv4(10, 1, 2, 3).To4()

// misleadNames resolves every name to a private address until the test ends. Such a test does not
// run in parallel.
func misleadNames(t *testing.T) (server string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		packet := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(answerName(packet[:n]), from) // who asked asks again
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		_ = conn.Close()
		<-done
	})
	return conn.LocalAddr().String()
}

// answerName answers a request for the IPv4 address of a name, and any other request with no
// records.
func answerName(request []byte) []byte {
	const header, typeA = 12, 1
	end := header
	for end < len(request) && request[end] != 0 {
		end += int(request[end]) + 1
	}
	end += 5 // the empty label, the type and the class
	if end > len(request) {
		return nil
	}
	answer := append([]byte{request[0], request[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, request[header:end]...)
	if request[end-3] == typeA {
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4)
		answer = append(answer, resolved...)
	}
	return answer
}

// counter is a server that must not be reached.
func counter(t *testing.T) (at *url.URL, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at, asked
}

// visiting begins a run that uses an agent and a tool server at two addresses.
func visiting(card, server string) string {
	return fmt.Sprintf(`{"systemPrompt":"Go.","prompt":"visit","tools":[{"kind":"a2a","name":"peer","agentCardUrl":%q,"headers":{"X-Token":%q}},{"kind":"mcp","name":"shop","url":%q,"headers":{"X-Token":%q}}]}`,
		card, headerSecret, server, headerSecret)
}

// told returns everything reported to anyone about a run that has ended.
func (w *town) told(t *testing.T, body string) string {
	t.Helper()
	run, _ := w.own(t, http.MethodPost, annPath+"/agent-runs", body)["runId"].(string)
	resp := w.stream(t, run)
	defer resp.Body.Close()
	var all strings.Builder
	if err := resp.Write(&all); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		annPath + "/agent-runs/" + run, "/runtime/v1/turns/" + run, "/runtime/v1/turns/" + run + "/events", "/a2a/ephemeral/tasks/" + run,
	} {
		all.WriteString(w.ask(t, http.MethodGet, path, "", bearer(annKey)).body)
	}
	session, _ := w.own(t, http.MethodGet, "/runtime/v1/turns/"+run, "")["session_id"].(string)
	all.WriteString(w.ask(t, http.MethodGet, "/runtime/v1/sessions/"+session+"/export", "", bearer(annKey)).body)
	return all.String()
}

func TestARunReachesNothingInside(t *testing.T) {
	names := misleadNames(t)
	inside, asked := counter(t)
	w := newTown(t)
	port := inside.Port()
	for _, at := range []string{
		"http://127.0.0.1:" + port, "http://[::1]:" + port, "http://localhost:" + port, "http://LOCALHOST.:" + port, "http://0.0.0.0:" + port, "http://[::]:" + port,
		"http://127.1.2.3:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://[::ffff:7f00:1]:" + port, "http://[64:ff9b::7f00:1]:" + port,
		"http://2130706433:" + port, "http://0x7f000001:" + port, "http://0x7f.1:" + port, "http://017700000001:" + port, "http://127.1:" + port, "http://0:" + port,
		"http://10.0.0.1", "http://172.16.0.1", "http://192.168.0.1", "http://100.64.0.1", "http://[fd00::1]", "http://[fe80::1]",
		"http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/latest/meta-data/", "http://metadata.google.internal/computeMetadata/v1/",
		"https://168.63.129.16", "http://inside.example:" + port, "https://inside.example",
	} {
		said := w.told(t, visiting(at, at+"/mcp"))
		// A name without an address is not dialed at all.
		if strings.Count(said, "is refused") < 2 && strings.Count(said, "no such host") < 2 {
			t.Errorf("%s is not refused: %s", at, said)
		}
		for _, hidden := range []string{resolved.String(), names, headerSecret, "127.0.0.1:" + port} {
			if strings.Contains(said, hidden) && !strings.Contains(at, hidden) {
				t.Errorf("%s: somebody is told %s: %s", at, hidden, said)
			}
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests went inside", n)
	}
	if !strings.Contains(w.log.String(), resolved.String()) || strings.Contains(w.log.String(), headerSecret) {
		t.Errorf("the log is\n%s", w.log.String())
	}
}

func TestAddressesThatAreNoneMakeNoRun(t *testing.T) {
	w := newTown(t)
	for _, at := range []string{
		"file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "ftp://x.example/", "unix:///var/run/docker.sock", "//x.example", "x.example", "javascript:alert(1)",
		"http://", "http:///x", "http://user:" + headerSecret + "@x.example/", "https://user@x.example/", "http://x.example:99999/", "http://[fe80::1%25eth0]/", "http://[::1", "http://a b/", "http://x.example/\r\nX: y", "",
	} {
		for field, body := range map[string]string{"agentCardUrl": visiting(at, "https://x.example"), "url": visiting("https://x.example", at)} {
			got := w.ask(t, http.MethodPost, annPath+"/agent-runs", body, bearer(annKey))
			if got.status != http.StatusBadRequest || !strings.Contains(got.body, field) || strings.Contains(got.body, headerSecret) {
				t.Errorf("%s %q gives %d %s", field, at, got.status, got.body)
			}
		}
	}
}

// TestWhatIsAllowedInsideLeadsNowhereElse allows one port of this machine, whose server redirects
// the run elsewhere.
func TestWhatIsAllowedInsideLeadsNowhereElse(t *testing.T) {
	inside, asked := counter(t)
	var fronts, secrets atomic.Int64
	card := func(at string) string {
		text, _ := json.Marshal(map[string]any{
			"protocolVersion": "1.0", "name": "x", "description": "x", "version": "1", "capabilities": map[string]any{}, "skills": []any{},
			"defaultInputModes": []string{"text/plain"}, "defaultOutputModes": []string{"text/plain"}, "url": at, "preferredTransport": "JSONRPC",
			"supportedInterfaces": []map[string]any{{"url": at, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}, {"url": at, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}},
		})
		return string(text)
	}
	mux := http.NewServeMux()
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.String()+r.URL.Path, http.StatusTemporaryRedirect)
	}
	mux.HandleFunc("/away/", redirect)
	mux.HandleFunc("/card/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(card(inside.String())))
	})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fronts.Add(1)
		if r.Header.Get("X-Token") == headerSecret {
			secrets.Add(1)
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	w := newTown(t, "  a2a: {v0_3", "  agent_runs: {allow_private: [\""+strings.TrimPrefix(front.URL, "http://")+"\"]}\n  a2a: {v0_3")
	for _, path := range []string{"/away/card.json", "/card/card.json"} {
		before := fronts.Load()
		said := w.told(t, visiting(front.URL+path, front.URL+"/away/mcp"))
		if fronts.Load() < before+2 {
			t.Errorf("%s: what is allowed is not reached: %s", path, said)
		}
		if strings.Contains(said, headerSecret) {
			t.Errorf("%s: somebody is told the secret: %s", path, said)
		}
		if !strings.Contains(said, "tool_result") && !strings.Contains(said, "peer") {
			t.Errorf("%s: nobody is told why: %s", path, said)
		}
	}
	if asked.Load() > 0 || secrets.Load() == 0 {
		t.Errorf("%d requests went elsewhere, %d where they were to", asked.Load(), secrets.Load())
	}
	said := w.told(t, visiting(inside.String(), inside.String()))
	if !strings.Contains(said, "is refused") || asked.Load() > 0 {
		t.Errorf("another port is allowed, too: %s", said)
	}
}
