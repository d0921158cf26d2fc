package anthropic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

func TestClassify(t *testing.T) {
	body := func(kind, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_011C"}`, kind, message)
	}
	for _, tt := range []struct {
		status int
		body   string
		class  model.ErrorClass
		text   string
	}{
		{400, body("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), model.ContextOverflow, "too long"},
		{400, body("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"), model.ContextOverflow, "exceed"},
		{400, body("invalid_request_error", "Output blocked by content filtering policy"), model.ContentFiltered, "blocked"},
		{400, body("invalid_request_error", "messages: at least one message is required"), model.InvalidRequest, "at least one"},
		{400, body("api_error", "odd"), model.InvalidRequest, "odd"},
		{400, ``, model.InvalidRequest, "Bad Request"},
		{401, body("authentication_error", "invalid x-api-key"), model.Unauthorized, "invalid"},
		{402, body("billing_error", "pay"), model.Unauthorized, "pay"},
		{403, body("permission_error", "not yours"), model.Unauthorized, "not yours"},
		{404, body("not_found_error", "model: claude-0"), model.ModelNotFound, "claude-0"},
		{404, body("not_found_error", "Not Found"), model.InvalidRequest, "Not Found"},
		{404, `404 page not found`, model.InvalidRequest, "Not Found"},
		{405, ``, model.InvalidRequest, "Method Not Allowed"},
		{408, ``, model.Timeout, "Timeout"},
		{409, body("conflict_error", "busy"), model.InvalidRequest, "busy"},
		{413, body("request_too_large", "Request exceeds the maximum size"), model.ContextOverflow, "maximum size"},
		{413, ``, model.ContextOverflow, "Too Large"},
		{422, `{"detail":"x"}`, model.InvalidRequest, "Unprocessable"},
		{429, body("rate_limit_error", "too many"), model.RateLimited, "too many"},
		{500, body("api_error", "oops"), model.Provider, "oops"},
		{500, body("overloaded_error", "busy"), model.Overloaded, "busy"},
		{500, body("invalid_request_error", "odd"), model.Provider, "odd"},
		{502, `<html>Bad gateway ` + testKey + `</html>`, model.Provider, "Bad Gateway"},
		{503, ``, model.Overloaded, "Unavailable"},
		{504, body("timeout_error", "slow"), model.Timeout, "slow"},
		{529, body("overloaded_error", "Overloaded"), model.Overloaded, "Overloaded"},
		{529, ``, model.Overloaded, "does not say why"},
		{599, `{"error":{"message":{"nested":1},"type":7}}`, model.Provider, "does not say why"},
		{599, `{"error":{"type":"new_error"}}`, model.Provider, "new_error"},
		{200, `{"error":"busy"}`, model.Provider, "busy"},
		{200, body("overloaded_error", "Overloaded"), model.Overloaded, "Overloaded"},
		{200, `{"id":"msg_1","type":"message"}`, model.Provider, "something else than a stream"},
	} {
		t.Run(fmt.Sprintf("%d %.60s", tt.status, tt.body), func(t *testing.T) {
			e := serve(t, refuseWith(tt.status, tt.body))
			events, failure := collect(context.Background(), t, e, hello())
			if failure == nil || len(events) > 0 {
				t.Fatalf("%d events, no error", len(events))
			}
			wantStatus := tt.status
			if tt.status == 200 && !strings.Contains(tt.text, "stream") {
				wantStatus = 0
			}
			if failure.Class != tt.class || failure.Status != wantStatus || !strings.Contains(failure.Message, tt.text) {
				t.Errorf("the error is %v, want %s: %s", failure, tt.class, tt.text)
			}
			if said := fmt.Sprintf("%v %+v %v", failure, failure, failure.Err); strings.Contains(said, testKey) {
				t.Errorf("the error tells the key: %s", said)
			}
		})
	}
}

// TestErrorsInsideAStream classifies errors that have no status.
func TestErrorsInsideAStream(t *testing.T) {
	for kind, want := range map[string]model.ErrorClass{
		"overloaded_error":      model.Overloaded,
		"rate_limit_error":      model.RateLimited,
		"api_error":             model.Provider,
		"timeout_error":         model.Timeout,
		"authentication_error":  model.Unauthorized,
		"permission_error":      model.Unauthorized,
		"request_too_large":     model.ContextOverflow,
		"invalid_request_error": model.InvalidRequest,
		"not_found_error":       model.InvalidRequest,
		"never_heard_of":        model.Provider,
		"":                      model.Provider,
	} {
		if got := (&refusal{kind: kind}).class(); got != want {
			t.Errorf("the type %q is of class %s, want %s", kind, got, want)
		}
	}
	if got := (&refusal{kind: "invalid_request_error", message: "Prompt is too long"}).class(); got != model.ContextOverflow {
		t.Errorf("a prompt that is too long is of class %s", got)
	}
}

// TestSecretsAreKept checks that a server which repeats what it was sent does
// not get it into a message.
func TestSecretsAreKept(t *testing.T) {
	config := Config{APIKey: testKey, Headers: map[string]string{"X-Gateway": "gateway-secret-1", "X-Other": "Token other-secret-2"}}
	echo := `bad key ` + testKey + ` and sk-ant-****************abcd via gateway-secret-1 with other-secret-2`
	want := `bad key *** and *** via *** with ***`
	for name, answer := range map[string]http.HandlerFunc{
		"refusal": refuseWith(401, `{"error":{"message":"`+echo+`"}}`),
		"stream":  answerWith([]byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"" + echo + "\"}}\n\n")),
	} {
		e := serveAt(t, config, answer)
		if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Message != want {
			t.Errorf("%s: the error is %v", name, failure)
		}
	}
}

// endless is a reader that never ends.
type endless struct{ text string }

func (r endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		n += copy(p[n:], r.text)
	}
	return len(p), nil
}

// TestWhatNeverEndsIsCut checks that neither a refusal, nor a line, nor an event
// of many lines is kept in memory without limit.
func TestWhatNeverEndsIsCut(t *testing.T) {
	e := offline(t, Config{}, func(r *http.Request) (*http.Response, error) {
		res := streamResponse(r, io.NopCloser(io.MultiReader(strings.NewReader(`{"error":"`), endless{"x"})))
		res.StatusCode = http.StatusInternalServerError
		return res, nil
	})
	if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Class != model.Provider {
		t.Errorf("the error is %v", failure)
	}
	for _, text := range []string{"x", "data: x\n"} {
		e := replaying(t, io.MultiReader(strings.NewReader("data: "), endless{text}))
		if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Class != model.Provider || !strings.Contains(failure.Message, "too large") {
			t.Errorf("%q without end gives %v", text, failure)
		}
	}
}

// TestTransportErrors checks errors from below HTTP.
func TestTransportErrors(t *testing.T) {
	for _, tt := range []struct {
		err   error
		class model.ErrorClass
	}{
		{os.ErrDeadlineExceeded, model.Timeout},
		{&url.Error{Op: "Post", URL: "http://x?key=" + testKey, Err: io.ErrUnexpectedEOF}, model.Provider},
		{errors.New("proxy says " + testKey), model.Provider},
	} {
		e := offline(t, Config{}, func(*http.Request) (*http.Response, error) { return nil, tt.err })
		_, failure := collect(context.Background(), t, e, hello())
		if failure == nil || failure.Class != tt.class || strings.Contains(failure.Error(), testKey) {
			t.Errorf("%v becomes %v", tt.err, failure)
		}
	}
	stream := fixture(t, "text")
	e := replaying(t, io.MultiReader(bytes.NewReader(stream[:len(stream)/2]), failing{}))
	if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Class != model.StreamInterrupted {
		t.Errorf("a read that fails becomes %v", failure)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestRetryAfter(t *testing.T) {
	for name, header := range map[string]string{
		"Retry-After": "12", "Retry-After-Ms": "12000",
	} {
		e := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(name, header)
			refuseWith(429, `{}`)(w, r)
		})
		if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.RetryAfter != 12*time.Second {
			t.Errorf("%s: the error is %v", name, failure)
		}
	}
}
