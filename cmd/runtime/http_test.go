package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// rightKey is the key of guarded.
const rightKey = "ark_right-right-right"

const guarded = `version: 1
providers: {s: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: s, upstream_model: x}}
agents: {a: {model_id: m}}
store: {driver: memory}
server:
  listen: 127.0.0.1:0
  keys:
    - {id: right, key: ` + rightKey + `}
  a2a: {v0_3: true}
`

// oneReply is the script of a model that says one thing.
const oneReply = "replies: [{text: \"Hi.\"}]\n"

// serveHTTP answers requests for a configuration until the test ends.
func serveHTTP(t *testing.T, text, script string) *served {
	t.Helper()
	return serveLogged(t, text, script, zap.NewNop())
}

// serveLogged is serveHTTP with a log.
func serveLogged(t testing.TB, text, script string, logger *zap.Logger) *served {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	for name, content := range map[string]string{file: text, filepath.Join(dir, "script.yaml"): script} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	p := &program{streams: streams{in: strings.NewReader(""), out: io.Discard, err: &said}, components: shipped()}
	l, err := p.load([]string{file}, true, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	rt, err := l.build(t.Context(), p)
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	seen, err := observe(t.Context(), logger, l.file.Redact, true)
	if err != nil {
		t.Fatal(err)
	}
	w := &work{grace: l.file.Turns.GraceTime()}
	if err = p.listen(t.Context(), l, w, &keeper{logger: logger}, seen); err == nil {
		err = p.start(t.Context(), l, w, rt, logger)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.http.Serve(ctx) }()
	s := &served{Server: w.http, work: w, dir: dir}
	s.end = sync.OnceValue(func() error {
		stop()
		return errors.Join(<-ended, w.end(context.Background()), rt.Close(), seen.shutdown(context.Background()))
	})
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Errorf("end: %v", err)
		}
	})
	return s
}

// served is a server at work.
type served struct {
	*server.Server
	work *work
	// dir is where the configuration is.
	dir string
	// end ends it as a signal does.
	end func() error
}

func TestATurnIsHandedOnAndItsStreamEndsWithTheServer(t *testing.T) {
	const config = `version: 1
providers: {s: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: s, upstream_model: x}}
tools: {count: {type: command, description: Counts., command: [wc, -w]}}
agents: {a: {model_id: m}}
store: {driver: memory}
server: {listen: "127.0.0.1:0"}
`
	const script = `replies:
  - match: Begin
    text: I count the words and will tell you
    chunks: 20
    chunk_delay: 50ms
    tool_calls: [{id: call_1, name: count, arguments: {}}]
fallback: {text: It is done.}
`
	s := serveHTTP(t, config, script)
	body := `{"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Begin"}]}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.LocalURL()+"/a2a/a/message:stream", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "I count") {
	}
	if err := s.end(); err != nil {
		t.Errorf("the end is not clean: %v", err)
	}
	var rest strings.Builder
	for lines.Scan() {
		rest.WriteString(lines.Text() + "\n")
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream was cut off: %v", err)
	}
	if strings.Contains(rest.String(), "COMPLETED") || strings.Contains(rest.String(), "FAILED") {
		t.Errorf("the stream says that the task is over:\n%s", rest.String())
	}
}

func TestTheServerOfAConfiguration(t *testing.T) {
	t.Parallel()
	day := &spec.Date{}
	if err := day.UnmarshalText([]byte("2026-12-31")); err != nil {
		t.Fatal(err)
	}
	hash := server.HashKey(rightKey)
	key, err := apiKey(&spec.ServerKey{ID: "ci", Hash: hash.String(), Agents: spec.Names{"a*"}, Scopes: spec.Names{"s"}, Expires: day})
	if err != nil || key.Hash != hash || key.Principal.KeyID != "ci" || key.Principal.Caller.Subject != "ci" || key.Principal.Caller.Tenant != "default" ||
		!key.Principal.MayUse("ab") || key.Principal.MayUse("b") || key.Principal.Has("t") || !key.Expires.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", key, err)
	}
	if key, err := apiKey(&spec.ServerKey{ID: "ci", Key: rightKey}); err != nil || key.Hash != hash || !key.Expires.IsZero() {
		t.Errorf("%+v, %v", key, err)
	}
	if _, err := newCredentials(&spec.Server{Keys: []spec.ServerKey{{ID: "ci", Hash: "sha256:x"}}}, nil, nil); err == nil || !strings.Contains(err.Error(), "key ci: a hash is") {
		t.Error(err)
	}
	settings := httpSettings(&spec.Server{CORSOrigins: []string{"https://x"}, PublicURL: "https://y", AllowUnauthenticated: true, Rate: spec.ServerRate{PerSecond: 1, Burst: 2, Concurrency: 3}})
	if settings.Authenticator != nil || settings.Address != spec.DefaultListen || settings.Limits.MaxBodyBytes != spec.DefaultMaxBodyBytes ||
		settings.Limits.WriteTimeout != spec.DefaultWriteTimeout || settings.Rate != (server.Rate{PerSecond: 1, Burst: 2, Concurrency: 3}) ||
		!settings.AllowUnauthenticated || settings.PublicURL != "https://y" || len(settings.CORSOrigins) != 1 {
		t.Errorf("%+v", settings)
	}
}
