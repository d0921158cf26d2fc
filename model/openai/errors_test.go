package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

func TestClassify(t *testing.T) {
	body := func(code, kind, param, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":%q,"code":%q}}`, message, kind, param, code)
	}
	for _, tt := range []struct {
		status int
		body   string
		class  model.ErrorClass
		text   string
	}{
		{400, body("context_length_exceeded", "invalid_request_error", "messages", "too long"), model.ContextOverflow, "too long"},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, model.ContextOverflow, "4096"},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.ContextOverflow, "available"},
		{413, body("", "", "", "Your input exceeds the context window of this model"), model.ContextOverflow, "window"},
		{500, body("", "", "", "the request exceeds the available context size"), model.ContextOverflow, "available"},
		{400, body("content_policy_violation", "image_generation_user_error", "", "no"), model.ContentFiltered, "no"},
		{400, body("content_filter", "", "prompt", "filtered"), model.ContentFiltered, "filtered"},
		{400, body("invalid_prompt", "invalid_request_error", "", "flagged"), model.ContentFiltered, "flagged"},
		{400, body("unsupported_value", "invalid_request_error", "temperature", "unsupported"), model.InvalidRequest, "unsupported"},
		{400, body("", "server_error", "", "odd"), model.InvalidRequest, "odd"},
		{400, ``, model.InvalidRequest, "Bad Request"},
		{400, `[{"error":{"code":400,"message":"in a list","status":"INVALID_ARGUMENT"}}]`, model.InvalidRequest, "in a list"},
		{401, body("invalid_api_key", "invalid_request_error", "", "Incorrect API key provided: sk-te**********cdef."), model.Unauthorized, "***"},
		{403, body("unsupported_country_region_territory", "request_forbidden", "", "not here"), model.Unauthorized, "not here"},
		{403, body("model_not_found", "invalid_request_error", "", "no access"), model.Unauthorized, "no access"},
		{404, body("model_not_found", "invalid_request_error", "", "The model 'x' does not exist"), model.ModelNotFound, "does not exist"},
		{404, `{"error":{"message":"model \"llama9\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, model.ModelNotFound, "llama9"},
		{404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment does not exist"}}`, model.ModelNotFound, "deployment"},
		{404, body("", "invalid_request_error", "input", "Item with id 'rs_1' not found."), model.InvalidRequest, "rs_1"},
		{404, `404 page not found`, model.InvalidRequest, "Not Found"},
		{404, `{"detail":"Not Found"}`, model.InvalidRequest, "Not Found"},
		{405, ``, model.InvalidRequest, "Method Not Allowed"},
		{408, ``, model.Timeout, "Timeout"},
		{409, ``, model.InvalidRequest, "Conflict"},
		{422, `{"detail":[{"loc":["body","x"],"msg":"extra fields not permitted"}]}`, model.InvalidRequest, "Unprocessable"},
		{429, body("rate_limit_exceeded", "tokens", "", "Rate limit reached"), model.RateLimited, "Rate limit"},
		{429, body("insufficient_quota", "insufficient_quota", "", "You exceeded your current quota"), model.RateLimited, "quota"},
		{429, body("context_length_exceeded", "", "", "x"), model.RateLimited, "x"},
		{500, body("", "server_error", "", "oops"), model.Provider, "oops"},
		{502, `<html><body>Bad gateway ` + testKey + `</body></html>`, model.Provider, "Bad Gateway"},
		{503, body("slow_down", "", "", "Slow down"), model.Overloaded, "Slow down"},
		{503, ``, model.Overloaded, "Unavailable"},
		{504, ``, model.Timeout, "Gateway Timeout"},
		{529, `{"error":"busy"}`, model.Overloaded, "busy"},
		{599, `{"error":{"message":{"nested":1},"code":{}}}`, model.Provider, "does not say why"},
		{200, `{"error":{"message":"bad","code":"context_length_exceeded"}}`, model.ContextOverflow, "bad"},
		{200, `{"id":"chatcmpl-1","object":"chat.completion"}`, model.Provider, "something else than a stream"},
	} {
		t.Run(fmt.Sprintf("%d %.40s", tt.status, tt.body), func(t *testing.T) {
			for _, api := range []API{Responses, ChatCompletions} {
				e := serve(t, api, refuseWith(tt.status, tt.body))
				events, failure := collect(context.Background(), t, e, hello())
				if failure == nil || len(events) > 0 {
					t.Fatalf("%d events, no error", len(events))
				}
				wantStatus := tt.status
				if wantStatus == 200 {
					wantStatus = 0
				}
				if failure.Class != tt.class || failure.Status != wantStatus && tt.text != "something else than a stream" || !strings.Contains(failure.Message, tt.text) {
					t.Errorf("the error is %v, want %s: %s", failure, tt.class, tt.text)
				}
				if said := fmt.Sprintf("%v %+v %v", failure, failure, failure.Err); strings.Contains(said, testKey) || strings.Contains(said, "sk-te") {
					t.Errorf("the error tells the key: %s", said)
				}
			}
		})
	}
}

// TestSecretsAreKept checks that a server which repeats what it was sent does
// not get it into a message.
func TestSecretsAreKept(t *testing.T) {
	header := "gateway-secret-1"
	config := Config{APIKey: testKey, Headers: map[string]string{"X-Gateway": header, "X-Other": "Token other-secret-2", "X-Short": "v1"}}
	echo := `bad key ` + testKey + ` and sk-proj-****************abcd via ` + header + ` with other-secret-2 at v1`
	want := `bad key *** and *** via *** with *** at v1`
	for name, answer := range map[string]http.HandlerFunc{
		"refusal": refuseWith(401, `{"error":{"message":"`+echo+`"}}`),
		"stream":  answerWith([]byte("event: error\ndata: {\"type\":\"error\",\"message\":\"" + echo + "\"}\n\n")),
	} {
		e, _ := serveAt(t, config, answer)
		if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Message != want {
			t.Errorf("%s: the error is %v", name, failure)
		}
	}
}

// TestLongRefusal checks that a refusal without end is cut.
func TestLongRefusal(t *testing.T) {
	e := offline(t, Config{}, func(r *http.Request) (*http.Response, error) {
		res := streamResponse(r, io.NopCloser(io.MultiReader(strings.NewReader(`{"error":"`), endless{})))
		res.StatusCode = http.StatusInternalServerError
		return res, nil
	})
	if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Class != model.Provider {
		t.Errorf("the error is %v", failure)
	}
}

// endless is a reader that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestEventTooLarge checks that an event without end is not kept in memory.
func TestEventTooLarge(t *testing.T) {
	e := replaying(t, Responses, io.MultiReader(strings.NewReader("data: "), endless{}))
	if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Class != model.Provider || !strings.Contains(failure.Message, "too large") {
		t.Errorf("the error is %v", failure)
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
	stream := fixture(t, Responses, "text")
	e := replaying(t, Responses, io.MultiReader(bytes.NewReader(stream[:len(stream)/2]), failing{}))
	if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Class != model.StreamInterrupted {
		t.Errorf("a read that fails becomes %v", failure)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestRetryAfter checks that what a server asks to wait reaches the caller, in
// both forms.
func TestRetryAfter(t *testing.T) {
	for name, header := range map[string]http.Header{
		"seconds": {"Retry-After": {"12"}}, "milliseconds": {"Retry-After": {"1"}, "Retry-After-Ms": {"12000"}},
		"date": {"Retry-After": {time.Now().Add(12500 * time.Millisecond).UTC().Format(http.TimeFormat)}},
	} {
		e := serve(t, ChatCompletions, func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), header)
			refuseWith(429, `{}`)(w, r)
		})
		_, failure := collect(context.Background(), t, e, hello())
		if failure == nil || failure.RetryAfter.Round(2*time.Second) != 12*time.Second {
			t.Errorf("%s: the error is %v, wait %v", name, failure, failure.RetryAfter)
		}
	}
}

// TestStreamErrors classifies errors that have no status.
func TestStreamErrors(t *testing.T) {
	for code, want := range map[string]model.ErrorClass{
		"server_error":                   model.Provider,
		"rate_limit_exceeded":            model.RateLimited,
		"server_is_overloaded":           model.Overloaded,
		"vector_store_timeout":           model.Timeout,
		"invalid_image":                  model.InvalidRequest,
		"image_too_large":                model.InvalidRequest,
		"unsupported_image_format":       model.InvalidRequest,
		"failed_to_download_image":       model.InvalidRequest,
		"invalid_request_error":          model.InvalidRequest,
		"bio_policy":                     model.ContentFiltered,
		"never_heard_of":                 model.Provider,
		"":                               model.Provider,
		"429":                            model.RateLimited,
		"503":                            model.Overloaded,
		"404":                            model.InvalidRequest,
		"200":                            model.Provider,
		"context_length_exceeded":        model.ContextOverflow,
		"image_content_policy_violation": model.ContentFiltered,
	} {
		if got := (&refusal{code: code}).class(); got != want {
			t.Errorf("code %q is of class %s, want %s", code, got, want)
		}
	}
	if got := (&refusal{kind: "authentication_error"}).class(); got != model.Unauthorized {
		t.Errorf("the type authentication_error is of class %s", got)
	}
}
