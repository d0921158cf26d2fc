package providertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc"
)

// modeVariable makes a test binary serve a provider instead of running its tests.
const modeVariable = "PROVIDERTEST_MODE"

// The behaviors of a provider process.
const (
	// Steady serves the provider until stopped.
	Steady = "steady"
	// Failing exits before it is ready.
	Failing = "failing"
	// Resuming serves a provider that continues turns of an earlier process from their beginning.
	Resuming = "resuming"
	// Plain serves a provider that reports no capabilities.
	Plain = "plain"
	// Stubborn ignores requests to end.
	Stubborn = "stubborn"
	// Sick is ready once and unhealthy afterwards.
	Sick = "sick"
	// Mortal exits when it should create the first turn in its directory; a keeper keeps its turns.
	Mortal       = "mortal"
	MortalKeeper = "mortal keeper"
)

// Process is the configuration of a provider started as a process: the test binary itself, whose
// TestMain calls RunProcess.
func Process(t testing.TB, mode string, more map[string]any) map[string]any {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := map[string]any{"command": []string{path}, "env": map[string]string{modeVariable: mode}}
	for name, value := range more {
		c[name] = value
	}
	return c
}

// Running is a provider running at an address, as a process that is not restarted.
type Running struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// StartAt starts the test binary as a provider at an address, until it is stopped or the test ends.
func StartAt(t testing.TB, mode string, at Addresses) *Running {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	socket := strings.TrimPrefix(at.Provider, "unix:")
	_ = os.Remove(socket) // a killed provider leaves its socket
	r := &Running{cmd: exec.Command(path)}
	r.cmd.Env = append(os.Environ(), modeVariable+"="+mode, "GESTALT_PLUGIN_SOCKET="+socket, hostVariable+"=unix://"+strings.TrimPrefix(at.Host, "unix:"))
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Kill)
	return r
}

// Signal sends the process a signal.
func (r *Running) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// Kill kills the process immediately.
func (r *Running) Kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	_ = r.cmd.Wait()
	_ = r.stdin.Close()
}

// RunProcess serves a provider, if the process was started for that, and does not return
// then. Its turns do what their prompts begin with:
//
//	who          answers with the number of the process
//	hold FIFO    says "holding", then answers with the text of a named pipe
//	call TOOL    calls a tool and answers with its result
//	die          says "farewell" and ends the process
//
// Any other prompt is the answer.
func RunProcess() {
	mode, ok := os.LookupEnv(modeVariable)
	if !ok {
		return
	}
	fmt.Println("started as", mode, "with", os.Getenv("GESTALT_PLUGIN_NAME"))
	if mode == Steady && !isURL(os.Getenv(hostVariable)) {
		fmt.Println(hostVariable, "is not a URL")
		os.Exit(3)
	}
	if mode == Failing {
		os.Exit(3)
	}
	p := &Provider{Work: obeyPrompt, Capabilities: &providerproto.AgentProviderCapabilities{
		StreamingText: true, ToolCalls: true, ParallelToolCalls: true, StructuredOutput: true,
		SupportedToolSources: []providerproto.AgentToolSourceMode{providerproto.AgentToolSourceMode_AGENT_TOOL_SOURCE_MODE_MCP_CATALOG},
	}}
	p.Capabilities.ResumableTurns = mode == Resuming
	if mode == Plain {
		p.Capabilities = nil
	}
	if mode == Mortal || mode == MortalKeeper {
		p.Intercept = dieOnce
		p.Capabilities.ResumableTurns = mode == MortalKeeper
	}
	if mode == Sick {
		asked := 0
		p.Health = func() error {
			if asked++; asked == 1 {
				return nil
			}
			return errors.New("it has a cold")
		}
	}
	if mode == Stubborn {
		signal.Ignore(syscall.SIGTERM)
		p.Work = func(ctx context.Context, t *Turn) { obeyPrompt(context.WithoutCancel(ctx), t) }
	}
	if err := p.serveHost(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// dieOnce ends the process in the first CreateTurn, leaving a file for the next process.
func dieOnce(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if _, creates := in.(*providerproto.CreateAgentProviderTurnRequest); creates {
		if f, err := os.OpenFile("died", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_ = f.Close()
			os.Exit(7)
		}
	}
	return handle(ctx, in)
}

// hostVariable is the environment variable with the address for calls to the host.
const hostVariable = "GESTALT_AGENT_HOST_SOCKET"

// isURL reports whether an address has a form understood by Gestalt's SDKs.
func isURL(address string) bool {
	scheme, _, found := strings.Cut(address, "://")
	return found && (scheme == "unix" || scheme == "tcp" || scheme == "tls")
}

// serveHost serves the provider to the host that started the process, until the host or the process
// ends.
func (p *Provider) serveHost() error {
	ctx, end := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer end()
	stop, err := p.listen(os.Getenv("GESTALT_PLUGIN_SOCKET"), os.Getenv(hostVariable))
	if err != nil {
		return err
	}
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with the host
		close(closed)
	}()
	select {
	case <-ctx.Done():
	case <-closed:
	}
	stop()
	return nil
}

// obeyPrompt works on a turn as instructed by its prompt.
func obeyPrompt(ctx context.Context, t *Turn) {
	prompt := ""
	for _, m := range t.Request.GetMessages() {
		if m.GetRole() == "user" { // the calls of a resumed turn follow
			prompt = m.GetText()
		}
	}
	word, rest, _ := strings.Cut(prompt, " ")
	switch word {
	case "who":
		t.Succeed(strconv.Itoa(os.Getpid()))
	case "die":
		t.Say("farewell")
		os.Exit(7)
	case "hold":
		t.Say("holding ")
		line, err := readPipe(ctx, rest)
		if err != nil {
			t.Fail(err.Error())
			return
		}
		t.Succeed("holding " + line)
	case "call":
		got, err := t.Call(ctx, rest, map[string]any{"n": 21})
		if err != nil {
			t.Fail(err.Error())
			return
		}
		t.Succeed(got.GetBody())
	default:
		t.Succeed(prompt)
	}
}

// readPipe returns a line written to a named pipe.
func readPipe(ctx context.Context, path string) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		f, err := os.Open(path)
		if err != nil {
			done <- read{"", err}
			return
		}
		defer f.Close()
		line, err := bufio.NewReader(f).ReadString('\n')
		done <- read{strings.TrimSpace(line), err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
