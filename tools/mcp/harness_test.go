package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest"
)

// echoed is what the tool echo takes.
type echoed struct {
	Text string `json:"text"`
}

// city is what the tool weather promises.
type city struct {
	City    string `json:"city"`
	Degrees int    `json:"degrees"`
}

// newFake returns a server with a tool for everything that tests look at.
func newFake() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1.2.3"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Repeats a text.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "weather", Description: "Tells the weather.", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, city, error) {
			return nil, city{in.Text, 21}, nil
		})
	plainTool(s, "ticket", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		const number = `{"number":9223372036854775807}`
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: number}}, StructuredContent: json.RawMessage(number)}, nil
	})
	plainTool(s, "metadata", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: r.Params.Meta}, nil
	})
	plainTool(s, "directory", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		dir, err := os.Getwd()
		return textResult(dir), err
	})
	plainTool(s, "environment", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return textResult(strings.Join(os.Environ(), "\n")), nil
	})
	plainTool(s, "fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := textResult("there is no such city")
		r.IsError = true
		return r, nil
	})
	plainTool(s, "refuse", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("refused")
	})
	plainTool(s, "die", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	plainTool(s, "hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		note("cancelled")
		return nil, ctx.Err()
	})
	plainTool(s, "progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "working",
			})
			if err != nil {
				return nil, err
			}
		}
		// What is reported together with the result may come too late.
		for tick := time.NewTicker(time.Millisecond); ctx.Err() == nil && !strings.Contains(readNotes(os.Getenv("NOTES")), "seen"); {
			<-tick.C
		}
		return textResult("done"), nil
	})
	plainTool(s, "media", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "see"},
			&mcp.ImageContent{Data: []byte("\x89PNG\r\n\x1a\n"), MIMEType: "image/png"},
			&mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav"},
			&mcp.ResourceLink{URI: "file:///x/report.pdf", Name: "report", MIMEType: "application/pdf", Description: "All of it."},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///x/a.txt", Text: "inline"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///x/a.bin", Blob: []byte{1, 2}}},
		}}, nil
	})
	plainTool(s, "nothing", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	plainTool(s, "long", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return textResult(strings.Repeat("x", 100_000)), nil
	})
	plainTool(s, "huge", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return textResult(strings.Repeat("x", 50<<20)), nil
	})
	s.AddTool(&mcp.Tool{Name: "lie", InputSchema: object, OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"n": "many"}}, nil
		})
	plainTool(s, "grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		plainTool(s, "grown", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return textResult("new"), nil
		})
		s.RemoveTools("fail")
		return textResult("it has grown"), nil
	})
	return s
}

var object = json.RawMessage(`{"type":"object"}`)

func plainTool(s *mcp.Server, name string, call mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: object}, call)
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// note writes a line to the file that tests read what servers did from.
func note(line string) { noteIn(os.Getenv("NOTES"), line) }

func noteIn(name, line string) {
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	fmt.Fprintln(f, line)
	_ = f.Close()
}

func readNotes(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// serve is a server on standard input and output. All but "fake" misbehave.
func serve(behaviour string) error {
	note("started")
	if key := os.Getenv("KEY"); key != "" {
		fmt.Fprintln(os.Stderr, "canary of tenant one, key", key)
	}
	switch behaviour {
	case "fake":
		return newFake().Run(context.Background(), &mcp.StdioTransport{})
	case "asking":
		return newAsking("2026-07-28").Run(context.Background(), &mcp.StdioTransport{})
	case "asking in sessions":
		return newAsking("2025-11-25").Run(context.Background(), &mcp.StdioTransport{})
	case "talkative":
		fmt.Println("Welcome to the server, key " + os.Getenv("KEY"))
		fmt.Println(`{"level":"info","msg":"ready"}`)
		return newFake().Run(context.Background(), &mcp.StdioTransport{})
	case "garbage":
		fmt.Println("Welcome to the server!")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "exit":
		return errors.New("cannot read the licence")
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "deaf":
		<-time.After(time.Hour) // without a timer a program without cgo ends by itself
	case "stubborn": // does not end with its input, and has a child that does not either
		child := exec.Command("/bin/sh", "-c", "trap '' TERM; sleep 600 & wait; sleep 600")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			return err
		}
		note(fmt.Sprint("child ", child.Process.Pid))
		_ = newFake().Run(context.Background(), &mcp.StdioTransport{})
		select {}
	default:
		if name, ok := strings.CutPrefix(behaviour, "@"); ok { // too long for an environment variable
			script, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			behaviour = string(script)
		}
		return scripted(behaviour)
	}
	return nil
}

// scripted is a server that shakes hands and answers other requests with a
// fixed result: METHOD RESULT, one a line. A result of "-" sends nothing; after
// "stop" it stops reading; "die" ends it, and "flood" sends requests without end. With "ids text" it echoes IDs as strings.
func scripted(script string) error {
	answers := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}`,
	}
	for line := range strings.Lines(script) {
		method, result, _ := strings.Cut(strings.TrimSpace(line), " ")
		answers[method] = result
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &request) != nil || request.ID == nil {
			note(string(bytes.TrimSpace(line)))
			continue
		}
		if answers["ids"] == "text" {
			request.ID = fmt.Appendf(nil, "%q", request.ID)
		}
		switch result, ok := answers[request.Method]; {
		case result == "stop":
			<-time.After(time.Hour) // without a timer a program without cgo ends by itself
		case result == "die":
			os.Exit(3)
		case result == "flood":
			for i := 0; ; i++ {
				if _, err := fmt.Printf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i); err != nil {
					return nil
				}
			}
		case !ok:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", request.ID)
		case result != "-":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
		}
	}
}

// local returns the configuration of a server that is this test binary.
func local(t *testing.T, behaviour string) config {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return config{
		Command: []string{binary}, Env: map[string]string{serveVariable: behaviour, "NOTES": filepath.Join(t.TempDir(), "notes")},
		Catalog: filepath.Join(t.TempDir(), "deep", "catalog.json"),
	}
}

// notes returns what a server has noted.
func notes(c *config) []string {
	return strings.FieldsFunc(readNotes(c.Env["NOTES"]), func(r rune) bool { return r == '\n' })
}

// start makes the server of a configuration, which is closed when the test ends.
func start(t *testing.T, c config) *server {
	t.Helper()
	return startWith(t, c, slog.New(zapslog.NewHandler(zaptest.NewLogger(t).Core())))
}

func startWith(t *testing.T, c config, logger *slog.Logger) *server {
	t.Helper()
	made, err := Kind().Create(tools.Settings{ID: "fake", Dir: t.TempDir(), Logger: logger}, &c)
	if err != nil {
		t.Fatal(err)
	}
	s := made.(*server)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ready makes a server whose tools are known.
func ready(t *testing.T, c config) *server {
	t.Helper()
	s := start(t, c)
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// entries compiles the members of a server, as a revision does.
func entries(t *testing.T, s *server) map[string]*toolset.Entry {
	t.Helper()
	members, _ := s.Members()
	out := make(map[string]*toolset.Entry, len(members))
	for _, m := range members {
		entry, list := toolset.Compile(m.ID, m.Tool, toolset.Source{Kind: toolset.SourceGlobal, Name: "fake"})
		if list.HasErrors() {
			t.Fatal(list)
		}
		out[m.ID] = entry
	}
	return out
}

// host is the host of a call, which keeps progress.
type host struct {
	tools.Host
	mu    sync.Mutex
	lines []string
	// state is what the call has stored.
	state json.RawMessage
	// seen is called when three lines were kept, firstSeen at each.
	seen, firstSeen func()
}

// kept returns the texts so far. A server may still send others.
func (h *host) kept() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lines)
}

// Keep keeps the state of the call.
func (h *host) Keep(_ context.Context, state json.RawMessage) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = state
	return nil
}

// stored returns the state that the call has stored.
func (h *host) stored() json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state
}

// Progress keeps a text.
func (h *host) Progress(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, text)
	if h.firstSeen != nil {
		h.firstSeen()
	}
	if h.seen != nil && len(h.lines) == 3 {
		h.seen()
	}
}

// call calls a tool of a server as the loop does.
func call(ctx context.Context, t *testing.T, s *server, name, arguments string) tools.Result {
	t.Helper()
	entry := entries(t, s)[toolID(s.Prefix(), name)]
	if entry == nil {
		t.Fatalf("there is no tool %s", name)
	}
	return entry.Execute(ctx, &tools.Call{ID: "call_1", Tool: entry.ID, Arguments: json.RawMessage(arguments), Host: new(host)})
}

// succeed calls a tool that must do what it is asked, and returns the text.
func succeed(t *testing.T, s *server, name, arguments string) string {
	t.Helper()
	r := call(t.Context(), t, s, name, arguments)
	if r.IsError {
		t.Fatalf("%s: %s", name, model.PartsText(r.Content))
	}
	return model.PartsText(r.Content)
}

// fails calls a tool that must not do what it is asked, and checks that the
// text contains want.
func fails(t *testing.T, s *server, name, want string) {
	t.Helper()
	r := call(t.Context(), t, s, name, `{}`)
	if text := model.PartsText(r.Content); !r.IsError || !strings.Contains(text, want) {
		t.Errorf("%s says %q (error: %t), want an error with %q", name, text, r.IsError, want)
	}
}

// soon waits until something is so.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it never was so: %s", what)
		}
	}
}

func duration(d time.Duration) *spec.Duration {
	s := spec.Duration(d)
	return &s
}

// codes lists diagnostics as severity[code].
func codes(list diag.List) string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s[%s]", d.Severity, d.Code))
	}
	return strings.Join(out, " ")
}
