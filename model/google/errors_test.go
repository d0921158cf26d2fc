package google

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

func TestClassify(t *testing.T) {
	body := func(code int, status, message, details string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, code, message, status, details)
	}
	reason := func(reason string) string {
		return `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `","domain":"googleapis.com"}`
	}
	for _, tt := range []struct {
		status int
		body   string
		class  model.ErrorClass
		text   string
	}{
		{400, body(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", reason("API_KEY_INVALID")), model.Unauthorized, "not valid"},
		{400, body(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", ""), model.Unauthorized, "expired"},
		{400, body(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", ""), model.ContextOverflow, "1200000"},
		{400, body(400, "INVALID_ARGUMENT", "Unable to submit request because the input token count is 2000000.", ""), model.ContextOverflow, "2000000"},
		{400, body(400, "INVALID_ARGUMENT", "* GenerateContentRequest.contents: contents is not specified", ""), model.InvalidRequest, "contents"},
		{400, body(400, "FAILED_PRECONDITION", "User location is not supported for the API use.", ""), model.InvalidRequest, "location"},
		{400, `[` + body(400, "INVALID_ARGUMENT", "in a list", "") + `]`, model.InvalidRequest, "in a list"},
		{400, `{"error":{"code":"400","message":"odd types","status":7}}`, model.InvalidRequest, "odd types"},
		{400, ``, model.InvalidRequest, "Bad Request"},
		{401, body(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", ""), model.Unauthorized, "invalid"},
		{403, body(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.", ""), model.Unauthorized, "unregistered"},
		{404, body(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta", ""), model.ModelNotFound, "gemini-9"},
		{404, body(404, "NOT_FOUND", "Requested entity was not found.", ""), model.ModelNotFound, "entity"},
		{404, `<html>404</html>`, model.InvalidRequest, "Not Found"},
		{408, ``, model.Timeout, "Timeout"},
		{409, body(409, "ABORTED", "conflict", ""), model.Provider, "conflict"},
		{413, ``, model.InvalidRequest, "Too Large"},
		{429, body(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", ""), model.RateLimited, "quota"},
		{499, body(499, "CANCELLED", "The operation was cancelled.", ""), model.Provider, "cancelled"},
		{500, body(500, "INTERNAL", "An internal error has occurred.", ""), model.Provider, "internal"},
		{502, `<html><body>Bad gateway ` + testKey + `</body></html>`, model.Provider, "Bad Gateway"},
		{503, body(503, "UNAVAILABLE", "The model is overloaded.", ""), model.Overloaded, "overloaded"},
		{504, body(504, "DEADLINE_EXCEEDED", "The request timed out.", ""), model.Timeout, "timed out"},
		{529, `{"error":"busy"}`, model.Overloaded, "busy"},
		{599, `{"error":{"message":{"nested":1},"code":{}}}`, model.Provider, "does not say why"},
		{400, `{"error":{"status":"INVALID_ARGUMENT"}}`, model.InvalidRequest, "INVALID_ARGUMENT"},
		{200, body(400, "INVALID_ARGUMENT", "bad", ""), model.InvalidRequest, "bad"},
		{200, `[{"candidates":[]}]`, model.Provider, vendortest.NotAStream},
	} {
		vendor.CheckRefusal(t, tt.status, tt.body, tt.class, tt.text)
	}
}

// TestStreamErrors classifies errors inside a stream, by code or by status name alone.
func TestStreamErrors(t *testing.T) {
	for value, want := range map[string]model.ErrorClass{
		`{"code":400,"message":"The input token count (9) exceeds"}`: model.ContextOverflow,
		`{"code":401}`:                    model.Unauthorized,
		`{"code":504}`:                    model.Timeout,
		`{"status":"INVALID_ARGUMENT"}`:   model.InvalidRequest,
		`{"status":"UNAUTHENTICATED"}`:    model.Unauthorized,
		`{"status":"PERMISSION_DENIED"}`:  model.Unauthorized,
		`{"status":"NOT_FOUND"}`:          model.ModelNotFound,
		`{"status":"RESOURCE_EXHAUSTED"}`: model.RateLimited,
		`{"status":"INTERNAL"}`:           model.Provider,
		`{"status":"UNAVAILABLE"}`:        model.Overloaded,
		`{"status":"DEADLINE_EXCEEDED"}`:  model.Timeout,
		`{"status":"SOMETHING_NEW"}`:      model.Provider,
		`"gave up"`:                       model.Provider,
	} {
		e := vendor.Replay(t, strings.NewReader(`data: {"error":`+value+"}\n\n"))
		events, failure := vendortest.Ask(t, e, hello())
		if failure == nil || failure.Class != want || failure.Message == "" || len(events) > 0 {
			t.Errorf("%s becomes %v, want the class %s", value, failure, want)
		}
	}
}

// TestSecretsAreKeptInAFinish checks that a server that repeats the key in its finish reason does
// not get the key into a message.
func TestSecretsAreKeptInAFinish(t *testing.T) {
	e := vendor.Replay(t, strings.NewReader(`data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"bad key `+testKey+`"}]}`+"\n\n"))
	if _, failure := vendortest.Ask(t, e, hello()); failure == nil || !strings.HasSuffix(failure.Message, "bad key ***") {
		t.Errorf("the error is %v", failure)
	}
}

// TestRetryAfter checks the source of the delay: the error details, else the header.
func TestRetryAfter(t *testing.T) {
	info := func(delay string) string {
		return `{"error":{"code":429,"message":"x","details":[{"@type":"type.googleapis.com/google.rpc.Help"},` +
			`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":` + delay + `}]}}`
	}
	for _, tt := range []struct {
		header, body string
		want         time.Duration
	}{
		{"", `{}`, 0},
		{"12", `{}`, 12 * time.Second},
		{"", info(`"39s"`), 39 * time.Second},
		{"12", info(`"39.957s"`), 39957 * time.Millisecond},
		{"12", info(`"soon"`), 12 * time.Second},
		{"12", info(`39`), 12 * time.Second},
		{"12", info(`"-5s"`), 12 * time.Second},
		{"", info(`"9999999s"`), longestDelay},
	} {
		e := vendor.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			if tt.header != "" {
				w.Header().Set("Retry-After", tt.header)
			}
			vendortest.Refuse(429, tt.body)(w, r)
		})
		if _, failure := vendortest.Ask(t, e, hello()); failure == nil || failure.RetryAfter != tt.want {
			t.Errorf("header %q and body %s: the error is %v with a wait of %s, want %s", tt.header, tt.body, failure, failure.RetryAfter, tt.want)
		}
	}
}
