//go:build unix

package mcp

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"
)

func TestTheToolsOfAServer(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, "fake"))
	all := entries(t, s)
	for id, effect := range map[string]tools.Effect{"mcp__fake__echo": tools.Read, "mcp__fake__weather": tools.Idempotent, "mcp__fake__fail": tools.Once} {
		if e := all[id]; e == nil || e.Descriptor.EffectClass() != effect {
			t.Errorf("%s is %+v, want one with effect %s", id, e, effect)
		}
	}
	if d := all["mcp__fake__weather"].Descriptor; d.Description != "Tells the weather." || !strings.Contains(string(d.Output), `"degrees"`) || !strings.Contains(string(d.Parameters), `"text"`) {
		t.Errorf("the tool is %+v", d)
	}
	if got := succeed(t, s, "echo", `{"text":"hello"}`); got != "hello" {
		t.Errorf("echo says %q", got)
	}
	r := call(t.Context(), t, s, "weather", `{"text":"Köln"}`)
	if string(r.Data) != `{"city":"Köln","degrees":21}` || r.IsError {
		t.Errorf("the weather is %s", r.Data)
	}
	if got := succeed(t, s, "nothing", `{}`); got != "[no output]" {
		t.Errorf("nothing says %q", got)
	}
	fails(t, s, "fail", "there is no such city")
	fails(t, s, "refuse", "refused")
	fails(t, s, "echo", "tool_input_invalid")
	if got := notes(&s.config); len(got) != 1 {
		t.Errorf("all calls share one program, but %q", got)
	}
}

func TestWhatAServerReturnsBecomesPartsOfAMessage(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, "fake"))
	got := call(t.Context(), t, s, "media", `{}`).Content
	want := []model.Part{
		model.Text("see"),
		{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}},
		{Type: model.PartFile, Blob: &model.Blob{MediaType: "audio/wav", Data: []byte("wav")}},
		model.Text("[resource file:///x/report.pdf, report, application/pdf] All of it."),
		model.Text("[resource file:///x/a.txt]\ninline"), model.Text("[resource file:///x/a.bin]"),
		{Type: model.PartFile, Blob: &model.Blob{MediaType: "application/octet-stream", Data: []byte{1, 2}, Name: "a.bin"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProgressIsShown(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, "fake"))
	h := &host{seen: func() { noteIn(s.config.Env["NOTES"], "seen") }}
	r := entries(t, s)["mcp__fake__progress"].Execute(t.Context(), &tools.Call{Host: h, Arguments: []byte(`{}`)})
	if text := model.PartsText(r.Content); text != "done" {
		t.Errorf("progress says %q", text)
	}
	if !slices.Equal(h.kept(), []string{"1/3 working\n", "2/3 working\n", "3/3 working\n"}) {
		t.Errorf("the progress is %q", h.kept())
	}
}

func TestAServerSeesNoOtherVariables(t *testing.T) {
	t.Setenv("RUNTIME_API_KEY", "s3cr3t")
	c := local(t, "fake")
	c.Env["GREETING"] = "hello"
	got := strings.Split(succeed(t, ready(t, c), "environment", `{}`), "\n")
	if slices.ContainsFunc(got, func(v string) bool { return strings.Contains(v, "s3cr3t") }) || !slices.Contains(got, "GREETING=hello") {
		t.Errorf("the environment is %q", got)
	}
}

func TestLongTextIsCut(t *testing.T) {
	t.Parallel()
	c := local(t, "fake")
	c.MaxOutput = 1000
	r := call(t.Context(), t, ready(t, c), "long", `{}`)
	if text := model.PartsText(r.Content); len(text) > 1100 || !strings.Contains(text, "[cut: the output has 100000 bytes in all]") || len(r.Whole) != 100_000 {
		t.Errorf("the text has %d bytes and ends %q", len(text), text[len(text)-60:])
	}
}

func TestAnAnswerThatNoMemoryShouldHold(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, "fake"))
	fails(t, s, "huge", "got no answer")
	if got := succeed(t, s, "echo", `{"text":"again"}`); got != "again" {
		t.Errorf("afterwards, echo says %q", got)
	}
}

func TestAResultThatDoesNotFitItsSchema(t *testing.T) {
	t.Parallel()
	fails(t, ready(t, local(t, "fake")), "lie", "does not fit its output schema: n: ")
}

// What may have happened is not repeated; the next call starts the server anew.
func TestAServerThatDies(t *testing.T) {
	t.Parallel()
	c := local(t, "fake")
	s := ready(t, c)
	fails(t, s, "die", "the call of die got no answer: mcp server fake: ")
	fails(t, s, "die", "exit status 3")
	// A third start in a row waits.
	fails(t, s, "echo", "tool_input_invalid")
	r := call(t.Context(), t, s, "hang", `{}`)
	if text := model.PartsText(r.Content); !r.IsError || !strings.Contains(text, "it keeps failing and is not tried again for") {
		t.Errorf("hang says %q", text)
	}
	if got := notes(&s.config); len(got) != 2 {
		t.Errorf("the server was started %d times: %q", len(got), got)
	}
}

// TestErrorOutputReachesOnlyTheLog makes a program that all tenants share fail in every way.
// What it writes to its standard error may be about another tenant.
func TestErrorOutputReachesOnlyTheLog(t *testing.T) {
	t.Parallel()
	const list = `tools/list {"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`
	for name, behaviour := range map[string]string{
		"dies in a call":      list + "\ntools/call die",
		"dies at the start":   "exit",
		"writes no JSON":      "garbage",
		"does not answer":     "mute",
		"answers an error":    list,
		"breaks the protocol": list + "\ntools/call 7}{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := local(t, behaviour)
			c.Env["KEY"] = "s3cr3t-value"
			c.ConnectTimeout = duration(3 * time.Second)
			core, logs := observer.New(zap.InfoLevel)
			s := startWith(t, c, slog.New(zapslog.NewHandler(core, zapslog.WithName("tool.fake"))))
			s.setCatalog(&catalog{Tools: []toolInfo{{Name: "x", InputSchema: object}}})
			paused := false
			for range 4 {
				r := call(t.Context(), t, s, "x", `{}`)
				text := model.PartsText(r.Content)
				if !r.IsError || strings.Contains(text, "canary") || strings.Contains(text, "s3cr3t") {
					t.Errorf("the call says %q (error: %t)", text, r.IsError)
				}
				paused = paused || strings.Contains(text, "it keeps failing and is not tried again for")
			}
			if want := behaviour != list; paused != want {
				t.Errorf("the server is paused: %t, want %t", paused, want)
			}
			written := logs.FilterMessage("MCP server output").All()
			if len(written) == 0 {
				t.Fatal("nothing is logged")
			}
			isCanary := func(e observer.LoggedEntry) bool {
				return e.LoggerName == "tool.fake" && e.ContextMap()["line"] == "canary of tenant one, key ***"
			}
			if !slices.ContainsFunc(written, isCanary) {
				t.Errorf("the log has %v", written)
			}
		})
	}
}

func TestTextOnTheStandardOutputKeepsTheSession(t *testing.T) {
	t.Parallel()
	c := local(t, "talkative")
	c.Env["KEY"] = "s3cr3t-value"
	core, logs := observer.New(zap.InfoLevel)
	s := startWith(t, c, slog.New(zapslog.NewHandler(core)))
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := succeed(t, s, "echo", `{"text":"hello"}`); got != "hello" {
		t.Errorf("echo says %q", got)
	}
	warned := logs.FilterMessageSnippet("writes text to its standard output").All()
	if len(warned) != 1 || warned[0].ContextMap()["line"] != "Welcome to the server, key ***" {
		t.Errorf("the warnings are %v", warned)
	}
	if got := notes(&s.config); len(got) != 1 {
		t.Errorf("the program was started %d times", len(got))
	}
}

func TestACallThatTakesTooLongIsCanceled(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, "fake"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // within which the server is asked
	defer cancel()
	r := call(ctx, t, s, "hang", `{}`)
	if text := model.PartsText(r.Content); text != "tool mcp__fake__hang did not finish within 1m0s" {
		t.Errorf("hang says %q", text)
	}
	soon(t, "the server is told", func() bool { return slices.Contains(notes(&s.config), "cancelled") })
	if got := succeed(t, s, "echo", `{"text":"still here"}`); got != "still here" {
		t.Errorf("echo says %q", got)
	}
}

func TestServersThatCannotBeReached(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string]string{
		"garbage":                               "connecting took longer than 300ms",
		"exit":                                  "the program ended: exit status 1",
		"mute":                                  "connecting took longer than 300ms",
		"deaf":                                  "connecting took longer than 300ms",
		"tools/list {\"tools\":[{\"name\":7}]}": "list the tools",
		"tools/list {\"tools\":[],\"nextCursor\":\"on\"}":                                                                        "a cursor is repeated",
		"tools/list {\"tools\":[" + strings.Repeat(`{"name":"x","inputSchema":{"type":"object"}},`, maxTools) + `{"name":"x"}]}`: "it lists more than 512 tools",
		"tools/list {\"tools\":[{\"name\":\"x\",\"description\":\"" + strings.Repeat("x", 100) + "\"}],\"nextCursor\":\"on\"}":   "a cursor is repeated",
	} {
		t.Run(behaviour[:min(len(behaviour), 60)], func(t *testing.T) {
			t.Parallel()
			c := local(t, behaviour)
			if behaviour == "garbage" || behaviour == "mute" || behaviour == "deaf" {
				c.ConnectTimeout = duration(300 * time.Millisecond)
			}
			s := start(t, c)
			err := s.Refresh(t.Context())
			if failed, ok := errors.AsType[*Error](err); !ok || failed.Server != "fake" || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %q in it", err, want)
			}
			if s.Known() {
				t.Error("its tools are known")
			}
		})
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	const list = `tools/list {"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`
	for answer, want := range map[string]string{
		`"text"`:                                 "mcp server fake: ",
		`7}{`:                                    "the call of x got no answer: mcp server fake: ",
		`{"isError":true,"content":[]}`:          "[no output]",
		`{"inputRequests":{"a":{"method":"x"}}}`: "",
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			s := ready(t, local(t, list+"\ntools/call "+answer))
			r := call(t.Context(), t, s, "x", `{}`)
			if text := model.PartsText(r.Content); !strings.Contains(text, want) || want != "" && !r.IsError {
				t.Errorf("the result is %q (error: %t), want %q in it", text, r.IsError, want)
			}
		})
	}
}

// Both calls end with the session: the one that cannot be written, and the one
// that was read and gets no answer.
func TestAProgramThatStopsReading(t *testing.T) {
	t.Parallel()
	c := local(t, `tools/list {"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`+"\ntools/call stop")
	s := start(t, c)
	s.writeTime = 500 * time.Millisecond
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	large := `{"text":"` + strings.Repeat("x", 256<<10) + `"}`
	var running sync.WaitGroup
	for range 2 { // the program reads the first call, whichever it is
		running.Go(func() {
			r := call(t.Context(), t, s, "x", large)
			if text := model.PartsText(r.Content); !r.IsError || !strings.Contains(text, "the program does not read its input") {
				t.Errorf("x says %q", text)
			}
		})
	}
	running.Wait()
	if err := s.Refresh(t.Context()); err != nil {
		t.Errorf("afterwards, it cannot be started anew: %v", err)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	c := config{Command: []string{"no-such-server"}, Catalog: t.TempDir() + "/c.json"}
	if err := start(t, c).Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), `command "no-such-server" is not installed: not found`) {
		t.Errorf("the error is %v", err)
	}
}

func TestClosingLeavesNoProcess(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, "stubborn"))
	line := notes(&s.config)[1]
	pid, err := strconv.Atoi(strings.TrimPrefix(line, "child "))
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan tools.Result, 1)
	hang := entries(t, s)["mcp__fake__hang"]
	go func() {
		called <- hang.Execute(t.Context(), &tools.Call{Host: new(host), Arguments: []byte(`{}`)})
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r := <-called; !r.IsError {
		t.Errorf("a call under way came to %v", r)
	}
	// A process that nobody waits for yet answers signals, so wait for init.
	soon(t, "the child is gone", func() bool {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil && strings.Contains(string(data), ") Z ")
	})
	if r := call(t.Context(), t, s, "echo", `{"text":"x"}`); !strings.Contains(model.PartsText(r.Content), ErrClosed.Error()) {
		t.Errorf("after closing, echo says %v", r.Content)
	}
}

func TestManyCallsAtOnceOpenOneSession(t *testing.T) {
	t.Parallel()
	c := local(t, "fake")
	s := ready(t, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, c) // the tools are known, the connection is not there yet
	var running sync.WaitGroup
	for i := range 20 {
		running.Go(func() {
			if got := succeed(t, s, "echo", `{"text":"`+strconv.Itoa(i)+`"}`); got != strconv.Itoa(i) {
				t.Errorf("call %d got %q", i, got)
			}
		})
	}
	running.Wait()
	if got := notes(&s.config); len(got) != 2 {
		t.Errorf("the server was started %d times in all", len(got))
	}
}

func TestToolsThatChange(t *testing.T) {
	t.Parallel()
	c := local(t, "fake")
	s := ready(t, c)
	told := make(chan struct{}, 1)
	s.OnChange(func(context.Context) {
		select {
		case told <- struct{}{}:
		default:
		}
	})
	old := entries(t, s)
	succeed(t, s, "grow", `{}`)
	soon(t, "the list is new", func() bool {
		return entries(t, s)["mcp__fake__fail"] == nil && entries(t, s)["mcp__fake__grown"] != nil
	})
	<-told
	if got := succeed(t, s, "grown", `{}`); got != "new" {
		t.Errorf("grown says %q", got)
	}
	r := old["mcp__fake__fail"].Execute(t.Context(), &tools.Call{Host: new(host), Arguments: []byte(`{}`)})
	if text := model.PartsText(r.Content); !r.IsError || !strings.Contains(text, "it refuses the call of fail: unknown tool") {
		t.Errorf("the tool that was removed says %q", text)
	}
	if again := start(t, c); entries(t, again)["mcp__fake__grown"] == nil {
		t.Error("the file of the catalog is not up to date")
	}
}
