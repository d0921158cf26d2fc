//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/javaenv"
	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// TestTheReferenceServers uses the servers that the makers of the protocol publish on npm.
func TestTheReferenceServers(t *testing.T) {
	t.Parallel()
	installed := nodeenv.Install(t, os.DirFS("."))
	run := func(t *testing.T, name string, args ...string) config {
		t.Helper()
		return config{
			Command: append([]string{installed.Path(".bin/mcp-server-" + name)}, args...), Catalog: filepath.Join(t.TempDir(), "c.json"),
			Features: []string{featureResources, featurePrompts, featureElicitation, featureSampling, featureRoots},
		}
	}
	t.Run("everything", func(t *testing.T) { useEverything(t, ready(t, run(t, "everything", "stdio"))) })
	t.Run("filesystem", func(t *testing.T) { useFilesystem(t, run(t, "filesystem", t.TempDir())) })
	t.Run("memory", func(t *testing.T) {
		c := run(t, "memory")
		c.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}
		useMemory(t, ready(t, c))
	})
}

// useEverything uses each feature of the reference server that has them all.
func useEverything(t *testing.T, s *server) {
	t.Helper()
	_, found := s.Members()
	if len(found) != 0 {
		t.Errorf("left out: %v", found)
	}
	if got := succeed(t, s, "simulate-research-query", `{"topic":"bees"}`); !strings.Contains(got, "bees") {
		t.Errorf("the task says %q", got)
	}
	if e := entries(t, s)["mcp__fake__echo"]; e.Descriptor.EffectClass() != tools.Read {
		t.Errorf("echo has the effect %s", e.Descriptor.EffectClass())
	}
	if got := succeed(t, s, "echo", `{"message":"hello"}`); got != "Echo: hello" {
		t.Errorf("echo says %q", got)
	}
	fails(t, s, "echo", `tool_input_invalid: "message" is required`)
	if r := call(t.Context(), t, s, "get-structured-content", `{"location":"Chicago"}`); r.IsError || !strings.Contains(string(r.Data), `"temperature"`) {
		t.Errorf("the structured content is %s", r.Data)
	}
	image := false
	for _, part := range call(t.Context(), t, s, "get-tiny-image", `{}`).Content {
		image = image || part.Type == model.PartImage && part.Blob.MediaType == "image/png" && len(part.Blob.Data) > 0
	}
	if !image {
		t.Error("there is no image")
	}
	for arguments, want := range map[string]string{
		`{"action":"list"}`: `"demo://resource/static/document/architecture.md"`, `{"action":"templates"}`: "demo://resource/dynamic/text/{resourceId}",
		`{"action":"read","uri":"demo://resource/dynamic/text/1"}`: "[resource demo://resource/dynamic/text/1, text/plain]",
	} {
		if got := succeed(t, s, "resources", arguments); !strings.Contains(got, want) {
			t.Errorf("resources %s says %.300s", arguments, got)
		}
	}
	if got := succeed(t, s, "prompts", `{"action":"get","name":"args-prompt","arguments":{"city":"Paris"}}`); !strings.Contains(got, "Paris") {
		t.Errorf("the prompt says %q", got)
	}
	h := new(thinker)
	if got := model.PartsText(callAs(t, s, h, "trigger-sampling-request", `{"prompt":"Capital of France?"}`, nil).Content); len(h.asked) != 1 || !strings.Contains(got, "Paris") {
		t.Errorf("the server sampled %q", got)
	}
	wait := asked(t, s, "trigger-elicitation-request")
	if got := answered(t, s, "trigger-elicitation-request", wait, `{"name":"Ann","integer":7}`); !strings.Contains(got, "Ann") {
		t.Errorf("the elicitation says %q", got)
	}
	r := callAs(t, s, new(host), "trigger-url-elicitation", `{"url":"https://id.example/x"}`, nil)
	if r.Wait == nil || r.Wait.Questions[0].Action != tools.ActionAuthorize {
		t.Errorf("the address is asked as %+v", r)
	}
	shown := new(host)
	if r := callAs(t, s, shown, "trigger-long-running-operation", `{"duration":1,"steps":2}`, nil); r.IsError || len(shown.kept()) == 0 || !strings.HasPrefix(shown.kept()[0], "1/2") {
		t.Errorf("the progress is %q: %+v", shown.kept(), r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun := &host{firstSeen: cancel}
	if r := entries(t, s)["mcp__fake__trigger-long-running-operation"].Execute(ctx, &tools.Call{ID: "call_1", Arguments: json.RawMessage(`{"duration":60,"steps":600}`), Host: begun}); !r.IsError {
		t.Errorf("a canceled call says %+v", r)
	}
	killAndCall(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := s.link.openSession(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("the connection is %v", err)
	}
}

// killAndCall kills the program of a server and calls it again.
func killAndCall(t *testing.T, s *server) {
	t.Helper()
	session, _, err := s.link.openSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := session.carrier.(*program)
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-session.done
	if got := succeed(t, s, "echo", `{"message":"again"}`); got != "Echo: again" {
		t.Errorf("after a restart, echo says %q", got)
	}
}

// useFilesystem writes and reads files, and has a workspace replace the directory.
func useFilesystem(t *testing.T, c config) {
	t.Helper()
	s := ready(t, c)
	dir := c.Command[1]
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	write, _ := json.Marshal(map[string]string{"path": filepath.Join(dir, "a.txt"), "content": "hello"}) // texts
	succeed(t, s, "write_file", string(write))
	read, _ := json.Marshal(map[string]string{"path": filepath.Join(dir, "a.txt")}) // texts
	if got := succeed(t, s, "read_text_file", string(read)); got != "hello" {
		t.Errorf("the file holds %q", got)
	}
	if r := call(t.Context(), t, s, "read_text_file", `{"path":"/etc/hostname"}`); !r.IsError {
		t.Errorf("another file is read: %+v", r)
	}
	if e := entries(t, s)["mcp__fake__write_file"]; e.Descriptor.EffectClass() != tools.Idempotent {
		t.Errorf("write_file has the effect %s", e.Descriptor.EffectClass())
	}
	w, app := space(t)
	soon(t, "the server uses the workspace", func() bool {
		r := entries(t, s)["mcp__fake__list_allowed_directories"].Execute(t.Context(), &tools.Call{ID: "call_1", Arguments: []byte(`{}`), Host: new(host), Workspace: w})
		text := model.PartsText(r.Content)
		return strings.Contains(text, app) && !strings.Contains(text, dir)
	})
}

// useMemory keeps an entity and finds it as a tool and as a resource.
func useMemory(t *testing.T, s *server) {
	t.Helper()
	succeed(t, s, "create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes tea"]}]}`)
	if got := succeed(t, s, "search_nodes", `{"query":"tea"}`); !strings.Contains(got, "Ann") {
		t.Errorf("the search says %q", got)
	}
	if got := succeed(t, s, "resources", `{"action":"read","uri":"memory://knowledge-graph"}`); !strings.Contains(got, "likes tea") {
		t.Errorf("the resource says %q", got)
	}
}

// TestAPythonServer uses a server of the Python SDK over both transports.
func TestAPythonServer(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("../../server/mcp/testdata/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	python := pyenv.Interpreter(t, list)
	c := config{
		Command: []string{python, "-B", "testdata/server.py"}, Catalog: filepath.Join(t.TempDir(), "c.json"), ConnectTimeout: duration(2 * time.Minute),
		Features: []string{featureResources, featurePrompts, featureElicitation, featureSampling},
	}
	t.Run("stdio", func(t *testing.T) { useForeign(t, ready(t, c)) })
	t.Run("HTTP", func(t *testing.T) {
		address, stop := startPython(t, python)
		defer stop()
		c := c
		c.Command, c.URL = nil, address
		s := start(t, c)
		soon(t, "the server listens", func() bool { return s.Refresh(t.Context()) == nil })
		useForeign(t, s)
	})
}

// TestAJavaServer uses a server of the Java SDK, also after it has crashed.
func TestAJavaServer(t *testing.T) {
	t.Parallel()
	project, err := os.ReadFile("testdata/pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	s := ready(t, config{
		Command: javaenv.Command(t, project, "testdata/Server.java"), Catalog: filepath.Join(t.TempDir(), "c.json"), ConnectTimeout: duration(time.Minute),
		Features: []string{featureResources, featurePrompts, featureElicitation, featureSampling},
	})
	useForeign(t, s)
	if r := call(t.Context(), t, s, "crash", `{}`); !r.IsError || !r.Indeterminate {
		t.Errorf("a crash is %+v", r)
	}
	soon(t, "the server is started again", func() bool {
		r := call(t.Context(), t, s, "add", `{"a":1,"b":2}`)
		return !r.IsError && model.PartsText(r.Content) == "3"
	})
}

// startPython starts the Python server over HTTP and returns its address.
func startPython(t *testing.T, python string) (address string, stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, "-B", "testdata/server.py", "http")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n])), func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// useForeign uses the tools of a server in another language: add, seats, capital and steps, the
// resource note://1 and the prompt review.
func useForeign(t *testing.T, s *server) {
	t.Helper()
	if r := call(t.Context(), t, s, "add", `{"a":1,"b":2}`); r.IsError || !strings.Contains(string(r.Data)+model.PartsText(r.Content), "3") {
		t.Errorf("add says %s %+v", r.Data, r.Content)
	}
	image := call(t.Context(), t, s, "picture", `{}`).Content
	if len(image) == 0 || image[0].Type != model.PartImage {
		t.Errorf("the picture is %+v", image)
	}
	if got := succeed(t, s, "resources", `{"action":"read","uri":"note://1"}`); !strings.Contains(got, "note 1") {
		t.Errorf("the resource says %q", got)
	}
	if got := succeed(t, s, "prompts", `{"action":"get","name":"review","arguments":{"what":"this"}}`); !strings.Contains(got, "Review this") {
		t.Errorf("the prompt says %q", got)
	}
	if got := answered(t, s, "seats", asked(t, s, "seats"), `{"count":4}`); !strings.Contains(got, "4 seats") {
		t.Errorf("the elicitation says %q", got)
	}
	h := new(thinker)
	if got := model.PartsText(callAs(t, s, h, "capital", `{}`, nil).Content); len(h.asked) != 1 || !strings.Contains(got, "Paris") {
		t.Errorf("the sampling says %q", got)
	}
	shown := new(host)
	callAs(t, s, shown, "steps", `{}`, nil)
	if lines := strings.Join(shown.kept(), ""); !strings.Contains(lines, "1/2") {
		t.Errorf("the progress is %q", lines)
	}
}
