package scripted_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/google/go-cmp/cmp"
)

func newExecutor(t testing.TB, script scripted.Script, options ...scripted.Option) *scripted.Executor {
	t.Helper()
	e, err := scripted.New(script, options...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ask returns the whole answer to a conversation.
func ask(t testing.TB, e model.Executor, messages ...model.Message) (*model.Answer, error) {
	t.Helper()
	return collect(t, e.Stream(t.Context(), &model.Request{Messages: messages, SessionID: t.Name()}))
}

func collect(t testing.TB, stream iter.Seq2[model.Event, error]) (*model.Answer, error) {
	t.Helper()
	a := &model.Answer{}
	for ev, err := range stream {
		if err != nil {
			return a, err
		}
		if err := a.Add(&ev); err != nil {
			t.Fatalf("malformed stream: %v", err)
		}
	}
	if !a.Finished {
		t.Fatal("the stream ended without a finish")
	}
	return a, nil
}

func result(text string) model.Message {
	return model.Message{Role: model.RoleTool, Parts: []model.Part{{
		Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: "c", Content: []model.Part{model.Text(text)}},
	}}}
}

func callOf(name, arguments string) model.ToolCall {
	return model.ToolCall{Name: name, Arguments: []byte(arguments)}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	a, err := ask(t, newExecutor(t, scripted.Script{}),
		model.System("Be kind."), model.User("one"), model.Assistant("x"), model.User("two"), result("r"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Text() != "echo: two" || a.Reason != model.FinishStop {
		t.Errorf("got %q, %s", a.Text(), a.Reason)
	}
	if a.Usage.Input == 0 || a.Usage.Output == 0 {
		t.Errorf("usage is %+v", a.Usage)
	}
	if a, err := ask(t, newExecutor(t, scripted.Script{})); err != nil || a.Text() != "echo: " || a.Usage.Input == 0 {
		t.Errorf("nothing was said: %q, %+v, %v", a.Text(), a.Usage, err)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	usage := &model.Usage{Input: 20, Output: 6, CacheRead: 3, Reasoning: 2}
	const (
		text, start = model.EventText, model.EventToolCallStart
		delta, end  = model.EventToolCallDelta, model.EventToolCallEnd
	)
	finish := func(reason model.FinishReason) model.Event {
		return model.Event{Type: model.EventFinish, Reason: reason, Usage: usage}
	}
	for name, tt := range map[string]struct {
		reply scripted.Reply
		want  []model.Event
	}{
		"empty": {scripted.Reply{}, []model.Event{finish(model.FinishStop)}},
		"text":  {scripted.Reply{Text: "hello"}, []model.Event{{Type: text, Delta: "hello"}, finish(model.FinishStop)}},
		"chunks are cut between characters": {
			scripted.Reply{Text: "äöüß€", Chunks: 3},
			[]model.Event{{Type: text, Delta: "ä"}, {Type: text, Delta: "öü"}, {Type: text, Delta: "ß€"}, finish(model.FinishStop)},
		},
		"no more chunks than characters": {
			scripted.Reply{Text: "ab", Chunks: 9},
			[]model.Event{{Type: text, Delta: "a"}, {Type: text, Delta: "b"}, finish(model.FinishStop)},
		},
		"reasoning comes first": {
			scripted.Reply{Text: "b", Reasoning: "a"},
			[]model.Event{{Type: model.EventReasoning, Delta: "a"}, {Type: text, Delta: "b"}, finish(model.FinishStop)},
		},
		"tool calls": {
			scripted.Reply{Text: "t", ToolCalls: []model.ToolCall{{ID: "x", Name: "a", Arguments: []byte(`{"k":1}`)}, callOf("b", "")}},
			[]model.Event{
				{Type: text, Delta: "t"},
				{Type: start, ID: "x", Name: "a"}, {Type: delta, Delta: `{"k":1}`}, {Type: end},
				{Type: start, Index: 1, ID: "call_2", Name: "b"}, {Type: delta, Index: 1, Delta: "{}"}, {Type: end, Index: 1},
				finish(model.FinishToolCalls),
			},
		},
		"malformed arguments in chunks": {
			scripted.Reply{Chunks: 2, ToolCalls: []model.ToolCall{callOf("a", `{"k`)}},
			[]model.Event{
				{Type: start, ID: "call_1", Name: "a"}, {Type: delta, Delta: `{`}, {Type: delta, Delta: `"k`}, {Type: end},
				finish(model.FinishToolCalls),
			},
		},
		"finish reason": {
			scripted.Reply{FinishReason: model.FinishContentFilter}, []model.Event{finish(model.FinishContentFilter)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.reply.Usage = usage
			e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{tt.reply}})
			var got []model.Event
			for ev, err := range e.Stream(t.Context(), &model.Request{Messages: []model.Message{model.User("go")}}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, ev)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEstimatedUsage(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{{Text: "12345678", Reasoning: "1234"}}})
	req := &model.Request{
		Messages: []model.Message{model.User("1234"), result("5678")},
		Tools:    []model.Tool{{Name: "wc", Parameters: []byte(`{}`)}},
	}
	a, err := collect(t, e.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	if want := (model.Usage{Input: 3, Output: 3, Reasoning: 1}); a.Usage != want {
		t.Errorf("usage is %+v, want %+v", a.Usage, want)
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	script := scripted.Script{Replies: []scripted.Reply{{
		Text: "abc", Chunks: 3, Delay: time.Second, ChunkDelay: 100 * time.Millisecond,
	}}}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var at []time.Duration
		for _, err := range newExecutor(t, script).Stream(t.Context(), &model.Request{Messages: []model.Message{model.User("go")}}) {
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(begun))
		}
		want := []time.Duration{time.Second, 1100 * time.Millisecond, 1200 * time.Millisecond, 1200 * time.Millisecond}
		if !slices.Equal(at, want) {
			t.Errorf("events came at %v, want %v", at, want)
		}
	})
}

func TestDelaysEndWithTheContext(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply scripted.Reply
		end   func(context.Context) (context.Context, context.CancelFunc)
		class model.ErrorClass
	}{
		"canceled before the first byte": {scripted.Reply{Text: "a", Delay: time.Hour}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, model.Canceled},
		"deadline between deltas": {scripted.Reply{Text: "ab", Chunks: 2, ChunkDelay: time.Hour}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, model.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tt.end(t.Context())
				defer cancel()
				begun := time.Now()
				e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{tt.reply}})
				_, err := collect(t, e.Stream(ctx, &model.Request{Messages: []model.Message{model.User("go")}}))
				var me *model.Error
				if !errors.As(err, &me) || me.Class != tt.class {
					t.Errorf("got %v, want class %s", err, tt.class)
				}
				if took := time.Since(begun); took != time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestCanceledWithoutDelay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, script := range []scripted.Script{{}, {Replies: []scripted.Reply{{Text: "a"}}}} {
		_, err := collect(t, newExecutor(t, script).Stream(ctx, &model.Request{Messages: []model.Message{model.User("go")}}))
		if model.AsError(err).Class != model.Canceled {
			t.Errorf("got %v", err)
		}
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{
		{Error: &scripted.Failure{Class: model.RateLimited, RetryAfter: time.Second, Times: 2, Status: 429}},
		{Text: "done"},
	}}, scripted.ID("demo"))
	for run := range 3 {
		for range 2 {
			_, err := ask(t, e, model.User("go"))
			want := &model.Error{
				Class: model.RateLimited, Provider: "demo", Status: 429, RetryAfter: time.Second, Message: "too many requests",
			}
			if diff := cmp.Diff(want, err); diff != "" {
				t.Fatalf("run %d: the error differs (-want +got):\n%s", run, diff)
			}
		}
		if a, err := ask(t, e, model.User("go")); err != nil || a.Text() != "done" {
			t.Fatalf("run %d: got %q, %v", run, a.Text(), err)
		}
	}
}

// TestFailureIsRetried proves that a repeated call gets past a failure, in the
// middle of a run, too.
func TestFailureIsRetried(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{
		{ToolCalls: []model.ToolCall{callOf("wc", "{}")}},
		{Error: &scripted.Failure{Class: model.Overloaded, Times: 2}},
		{Text: "done"},
	}})
	retrying := &model.Retrying{Executor: e, Policy: model.RetryPolicy{MaxRetries: 2}}
	for range 2 {
		a, err := ask(t, retrying, model.User("go"))
		if err != nil || a.Reason != model.FinishToolCalls {
			t.Fatalf("got %s, %v", a.Reason, err)
		}
		a, err = ask(t, retrying, model.User("go"), a.Message(), result("3"))
		if err != nil || a.Text() != "done" {
			t.Fatalf("got %q, %v", a.Text(), err)
		}
	}
}

func TestFailureAfterChunks(t *testing.T) {
	t.Parallel()
	failure := func(n int) *scripted.Failure {
		return &scripted.Failure{Class: model.StreamInterrupted, AfterChunks: n}
	}
	call := []model.ToolCall{callOf("wc", `{"text":"a"}`)}
	for name, tt := range map[string]struct {
		reply scripted.Reply
		text  string
		types []model.EventType
	}{
		"all of the text":      {scripted.Reply{Text: "abcd", Error: failure(2)}, "abcd", []model.EventType{model.EventText, model.EventText}},
		"a part of the text":   {scripted.Reply{Text: "abcd", Chunks: 4, Error: failure(1)}, "a", []model.EventType{model.EventText}},
		"nothing":              {scripted.Reply{Text: "abcd", Error: failure(0)}, "", nil},
		"a complete tool call": {scripted.Reply{ToolCalls: call, Error: failure(1)}, "", []model.EventType{model.EventToolCallStart, model.EventToolCallDelta, model.EventToolCallEnd}},
		"an open tool call":    {scripted.Reply{ToolCalls: call, Chunks: 2, Error: failure(1)}, "", []model.EventType{model.EventToolCallStart, model.EventToolCallDelta}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{tt.reply, {Text: "ok"}}})
			var types []model.EventType
			var text string
			var failed error
			for ev, err := range e.Stream(t.Context(), &model.Request{Messages: []model.Message{model.User("go")}}) {
				if failed = err; err != nil {
					continue
				}
				types = append(types, ev.Type)
				if ev.Type == model.EventText {
					text += ev.Delta
				}
			}
			if text != tt.text || !slices.Equal(types, tt.types) {
				t.Errorf("got %q in %v, want %q in %v", text, types, tt.text, tt.types)
			}
			if model.AsError(failed).Class != model.StreamInterrupted {
				t.Errorf("failed with %v", failed)
			}
		})
	}
}

func TestBreakingOffIsFine(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{{Text: "abc", Chunks: 3}}})
	for range 2 {
		n := 0
		for range e.Stream(t.Context(), &model.Request{Messages: []model.Message{model.User("go")}}) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("got %d events", n)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	if got := newExecutor(t, scripted.Script{}).Requests(); got != nil {
		t.Errorf("nothing was to be recorded: %v", got)
	}
	e := newExecutor(t, scripted.Script{}, scripted.Record(2))
	var want []model.Request
	for i := range 3 {
		req := &model.Request{
			Model: "m", SessionID: strconv.Itoa(i), Tools: []model.Tool{{Name: "wc"}},
			Messages: []model.Message{
				model.User("hello"), result("r"),
				{Role: model.RoleAssistant, Parts: []model.Part{
					{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c", Arguments: []byte("{}")}},
					{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "t"}},
					{Type: model.PartImage, Blob: &model.Blob{URI: "u"}},
				}},
			},
		}
		if _, err := collect(t, e.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			want = append(want, *req)
		}
	}
	got := e.Requests()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want[0].Messages[0].Parts[0].Text = "changed"
	want[0].Messages[2].Parts[0].ToolCall.Arguments[0] = 'x'
	if again := e.Requests(); !reflect.DeepEqual(again, got) {
		t.Error("what is recorded changed with the request")
	}
}

// TestConcurrentRuns proves that runs at the same time on one executor do not
// disturb one another.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, scripted.Script{Replies: []scripted.Reply{
		{ToolCalls: []model.ToolCall{callOf("wc", "{}")}},
		{Error: &scripted.Failure{Class: model.Provider, Times: 2}},
		{Text: "done"},
	}}, scripted.Record(10))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			session := "s" + strconv.Itoa(i)
			for range 20 {
				messages := []model.Message{model.User("go")}
				var outcome []string
				for len(outcome) < 4 {
					a, err := collect(t, e.Stream(t.Context(), &model.Request{Messages: messages, SessionID: session}))
					if err != nil {
						outcome = append(outcome, string(model.AsError(err).Class))
						continue
					}
					outcome = append(outcome, string(a.Reason))
					messages = append(messages, a.Message(), result("r"))
				}
				if got := strings.Join(outcome, " "); got != "tool_calls provider provider stop" {
					t.Errorf("%s went %s", session, got)
					return
				}
			}
		})
	}
	wg.Wait()
	e.Requests()
}

func TestKind(t *testing.T) {
	t.Parallel()
	kind := scripted.Kind()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for name, text := range map[string]string{good: "replies: [{text: hi}]", bad: "replies:\n  - txt: hi\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	create := func(script string) (model.Executor, error) {
		c := kind.NewConfig().(*scripted.Config)
		c.Script = script
		return kind.Create(model.Settings{ID: "demo"}, c)
	}
	for script, want := range map[string]string{"": "echo: go", good: "hi"} {
		e, err := create(script)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := ask(t, e, model.User("go")); err != nil || a.Text() != want {
			t.Errorf("script %q: got %q, %v", script, a.Text(), err)
		}
	}
	if e, err := create(bad); err == nil || e != nil || !strings.Contains(err.Error(), bad+`:2:5: a reply has no key "txt" (did you mean "text"?)`) {
		t.Errorf("got %v, %v", e, err)
	}
	_, err := create(filepath.Join(dir, "none.yaml"))
	if found := diag.FromError(err); len(found) != 1 || found[0].Path != "script" || !strings.Contains(found[0].Message, "cannot be read") {
		t.Errorf("got %v", err)
	}
}
