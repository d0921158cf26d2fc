package recorded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/model/recorded"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// fullRequest has every part of a request and every type of part.
func fullRequest(turn string) *model.Request {
	warm := 0.5
	return &model.Request{
		Model: "m", SessionID: "session-" + turn, TurnID: turn, Cache: true,
		ToolChoice: model.ToolChoice{Mode: model.ToolsNamed, Name: "look"},
		Output:     &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)},
		Params:     model.Params{Temperature: &warm, MaxOutputTokens: 100},
		Tools:      []model.Tool{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Messages: []model.Message{
			model.System("Be brief."),
			{ID: turn + "-1", Role: model.RoleUser, Parts: []model.Part{
				model.Text("What is <this> & that?"),
				{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", URI: "https://user:hunter2@example.com/a.png?sig=hunter3"}},
			}},
			{ID: turn + "-2", Role: model.RoleAssistant, Parts: []model.Part{
				{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "Hm.", Encrypted: "opaque", ID: "r1"}},
				{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c", Name: "look", Arguments: json.RawMessage(`{"broken`)}},
			}},
			{ID: turn + "-3", Role: model.RoleTool, Parts: []model.Part{{Type: model.PartToolResult, ToolResult: &model.ToolResult{
				CallID: "c", Name: "look", IsError: true,
				Content: []model.Part{{Type: model.PartFile, Blob: &model.Blob{MediaType: "text/plain", URI: "https://example.com/b?key=hunter4"}}},
			}}}},
		},
	}
}

func TestAnAnswerIsPlayedAsItWasStreamed(t *testing.T) {
	t.Parallel()
	given := answer{events: []model.Event{
		{Type: model.EventServed, ID: "big", Name: "m"},
		{Type: model.EventText, Delta: "Gr\xc3"},
		{Type: model.EventRetry, Retry: &model.Retry{Attempt: 1, Class: model.Overloaded, Plan: model.Restart}},
		{Type: model.EventReset, Delta: "broke off"},
		{Type: model.EventReasoning, Delta: "Hm."},
		{Type: model.EventReasoningEncrypted, Delta: "opaque", ID: "r1"},
		{Type: model.EventToolCallStart, ID: "c", Name: "look"},
		{Type: model.EventToolCallDelta, Delta: `{"a":`},
		{Type: model.EventToolCallStart, Index: 1, ID: "d", Name: "look"},
		{Type: model.EventToolCallCancel, Index: 1, Delta: "broke off"},
		{Type: model.EventToolCallEnd, Delta: "1}"},
		{Type: model.EventFinish, Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 7, Output: 5, CacheRead: 2}},
	}}
	file := record(t, []answer{given}, []*model.Request{fullRequest("t1")})
	p := play(t, file)
	// Another run has other ids, and other credentials in its URLs.
	second := fullRequest("t2")
	second.Messages[1].Parts[1].Blob.URI = "https://example.com/a.png?sig=other"
	got, err := take(t.Context(), p, second)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(given.events, got); diff != "" {
		t.Error(diff)
	}
	if len(p.Unused()) > 0 || len(p.Mismatches()) > 0 {
		t.Errorf("unused %v, mismatches %v", p.Unused(), p.Mismatches())
	}
}

func TestAFailureIsPlayedAsItHappened(t *testing.T) {
	t.Parallel()
	failed := &model.Error{
		Class: model.RateLimited, Provider: "house", Message: "slow down", Status: 429, RetryAfter: 2 * time.Second, Usage: &model.Usage{Input: 1},
		Err: errors.New("a cause that is not recorded"),
	}
	begun := []model.Event{{Type: model.EventText, Delta: "Hel"}}
	p := play(t, record(t, []answer{{begun, failed}, says("Hello.")}, []*model.Request{ask("Hi"), ask("Hi")}))
	got, err := take(t.Context(), p, ask("Hi"))
	if diff := cmp.Diff(begun, got); diff != "" {
		t.Error(diff)
	}
	want := *failed
	want.Err = nil
	if diff := cmp.Diff(&want, err); diff != "" {
		t.Error(diff)
	}
	if got := text(t, p, ask("Hi")); got != "Hello." {
		t.Errorf("the repetition is answered with %q", got)
	}
}

func TestARequestWithoutARecordingShowsTheDifference(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	file := record(t, []answer{says("Hello."), says("Sunny."), says("Bye.")},
		[]*model.Request{ask("Hi"), ask("weather " + long + " today " + long), ask("Bye")})
	for _, c := range []struct {
		name  string
		used  []*model.Request
		asked *model.Request
		want  string
	}{
		{
			"another text", nil, ask("weather " + long + " tomorrow " + long),
			"no recording of this request; it differs from recording 1:\n" +
				`  messages[0].parts[0].text: recorded "Hi", asked "weather ` + long[:71] + "…",
		},
		{
			"the unused of equally near ones", []*model.Request{ask("Hi")}, ask("Hello"),
			"no recording of this request; it differs from recording 2:\n" +
				`  messages[0].parts[0].text: recorded "weather ` + long[:71] + `…, asked "Hello"`,
		},
		{
			"asked twice", []*model.Request{ask("Hi")}, ask("Hi"),
			"the request was asked more often than it was recorded",
		},
		{
			"one message more", nil,
			&model.Request{Model: "m", Messages: []model.Message{model.User("Hi"), model.Assistant("Hello.")}},
			"no recording of this request; it differs from recording 1:\n" +
				`  messages[1]: recorded nothing, asked {"parts":[{"text":"Hello.","type":"text"}],"role":"assistant"}`,
		},
		{
			"many differences", nil,
			&model.Request{Model: "n", Params: model.Params{MaxOutputTokens: 1}, Tools: []model.Tool{{Name: "x"}}, Messages: []model.Message{
				model.System("a"), model.User("b"), model.User("c"), model.User("d"),
			}},
			"no recording of this request; it differs from recording 1:\n  max_output_tokens: recorded nothing, asked 1\n" +
				`  messages[0].parts[0].text: recorded "Hi", asked "a"` + "\n" +
				`  messages[0].role: recorded "user", asked "system"` + "\n" +
				`  messages[1]: recorded nothing, asked {"parts":[{"text":"b","type":"text"}],"role":"user"}` + "\n" +
				`  messages[2]: recorded nothing, asked {"parts":[{"text":"c","type":"text"}],"role":"user"}` + "\n  and 3 more",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := play(t, file)
			for _, req := range c.used {
				text(t, p, req)
			}
			_, err := take(t.Context(), p, c.asked)
			failed, _ := errors.AsType[*model.Error](err)
			mismatch, ok := errors.AsType[*recorded.MismatchError](err)
			if !ok || failed == nil || failed.Class != model.InvalidRequest || failed.Class.Retryable() {
				t.Fatalf("it fails with %v", err)
			}
			if diff := cmp.Diff(c.want, mismatch.Error()); diff != "" {
				t.Error(diff)
			}
			if got := p.Mismatches(); len(got) != 1 || got[0] != mismatch {
				t.Errorf("the player remembers %v", got)
			}
		})
	}
}

func TestAnEmptyFileAnswersNothing(t *testing.T) {
	t.Parallel()
	_, err := take(t.Context(), play(t, nil), ask("Hi"))
	if mismatch, ok := errors.AsType[*recorded.MismatchError](err); !ok || mismatch.Nearest != -1 || mismatch.Error() != "no request is recorded" {
		t.Errorf("it fails with %v", err)
	}
}

func TestTheFormOfJSONMakesNoDifference(t *testing.T) {
	t.Parallel()
	file := record(t, []answer{says("Done.")}, []*model.Request{fullRequest("t1")})
	req := fullRequest("t2")
	req.Tools[0].Parameters = json.RawMessage(" {\n\"type\" : \"object\" } ")
	if got := text(t, play(t, append([]byte("\n  "), file...)), req); got != "Done." {
		t.Errorf("it is answered with %q", got)
	}
}

func TestNormalizeMakesRequestsEqual(t *testing.T) {
	t.Parallel()
	hideDate := recorded.Normalize(func(req *model.Request) {
		req.Messages[0].Parts[0].Text, _, _ = strings.Cut(req.Messages[0].Parts[0].Text, " on ")
	})
	req := ask("Hi on Monday")
	file := record(t, []answer{says("Hello.")}, []*model.Request{req}, hideDate)
	if bytes.Contains(file, []byte("Monday")) || req.Messages[0].Text() != "Hi on Monday" {
		t.Errorf("the file is %s, and the request became %q", file, req.Messages[0].Text())
	}
	if got := text(t, play(t, file, hideDate), ask("Hi on Friday")); got != "Hello." {
		t.Errorf("it is answered with %q", got)
	}
}

// TestNoCredentialIsRecorded asks a vendor's executor with a key and headers, and with
// URLs that have credentials, once with success and once refused by a server that
// repeats the key.
func TestNoCredentialIsRecorded(t *testing.T) {
	t.Parallel()
	refuse := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse {
			http.Error(w, `{"error": {"message": "bad `+r.Header.Get("Authorization")+`"}}`, http.StatusUnauthorized)
			return
		}
		refuse = true
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(`data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
	}))
	t.Cleanup(server.Close)
	vendor, err := openai.New(model.Settings{ID: "house"}, &openai.Config{
		APIKey: "sk-hunter1-0123456789", BaseURL: server.URL, API: openai.ChatCompletions, Headers: map[string]string{"X-Gateway": "hunter5-0123456789"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	r := recorded.NewRecorder(vendor, &file)
	if got := text(t, r, fullRequest("t1")); got != "Hi." {
		t.Errorf("the vendor answers %q", got)
	}
	if _, err := take(t.Context(), r, fullRequest("t1")); err == nil {
		t.Error("the second request was not refused")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	server.CloseClientConnections()
	if got := bytes.Count(file.Bytes(), []byte("\n")); got != 2 {
		t.Errorf("the file has %d lines: %s", got, file.Bytes())
	}
	if bytes.Contains(file.Bytes(), []byte("hunter")) {
		t.Errorf("the file has a credential: %s", file.Bytes())
	}
}

func TestAnAnswerThatWasAbandonedIsNotRecorded(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	source := &answers{given: []answer{says("Hello."), {err: model.AsError(stopped.Err())}}}
	r := recorded.NewRecorder(source, &file)
	for range r.Stream(t.Context(), ask("Hi")) {
		break
	}
	if _, err := take(stopped, r, ask("Hi")); err == nil {
		t.Error("the answer did not fail")
	}
	if file.Len() > 0 {
		t.Errorf("the file is %s", file.Bytes())
	}
}

func TestAPlayerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := play(t, record(t, []answer{says("Hello.")}, []*model.Request{ask("Hi")}))
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := take(stopped, p, ask("Hi"))
	if failed, ok := errors.AsType[*model.Error](err); !ok || failed.Class != model.Canceled {
		t.Errorf("it fails with %v", err)
	}
}

// brokenWriter is a full disk.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestARecorderReportsWhatItCouldNotWrite(t *testing.T) {
	t.Parallel()
	source := &answers{given: []answer{says("Hello.")}}
	r := recorded.NewRecorder(source, brokenWriter{})
	if r.Vendor() != "house" {
		t.Errorf("the vendor is %q", r.Vendor())
	}
	if got := text(t, r, ask("Hi")); got != "Hello." {
		t.Errorf("the answer is %q", got)
	}
	for range 2 {
		if err := r.Close(); err == nil || err.Error() != "write recording: disk full" {
			t.Errorf("Close returns %v", err)
		}
	}
	if source.closed != 1 {
		t.Errorf("the executor was closed %d times", source.closed)
	}
}
