package cli

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

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server"
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

// oneReply is the script of a model with a single reply.
const oneReply = "replies: [{text: \"Hi.\"}]\n"

// serveHTTP serves a configuration until the test ends.
func serveHTTP(t *testing.T, text, script string) *served {
	t.Helper()
	return serveLogged(t, text, script, zap.NewNop())
}

// serveLogged is serveHTTP with a logger.
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
	p := &program{Streams: terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &said}, Components: shipped.Components()}
	l, err := p.load([]string{file}, true, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	seen, err := observe(t.Context(), logger, l.file.Redact, true, "devel")
	if err != nil {
		t.Fatal(err)
	}
	l.builder.WithTelemetry(seen.telemetry)
	rt, err := l.build(t.Context(), p)
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	a := p.newApp(l, seen)
	if err = a.Listen(t.Context()); err == nil {
		err = a.Start(t.Context(), rt)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx) }()
	s := &served{Server: a.Server(), app: a, dir: dir}
	s.end = sync.OnceValue(func() error {
		stop()
		return errors.Join(<-ended, a.Shutdown(context.Background()), rt.Close(), seen.shutdown(context.Background()))
	})
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Errorf("end: %v", err)
		}
	})
	return s
}

// served is a running server.
type served struct {
	*server.Server
	app *app.App
	// dir is the directory of the configuration.
	dir string
	// end stops the server like a signal.
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
