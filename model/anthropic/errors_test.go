package anthropic

import (
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
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
		{404, `404 page not found`, model.InvalidRequest, "page not found"},
		{405, ``, model.InvalidRequest, "Method Not Allowed"},
		{408, ``, model.Timeout, "Timeout"},
		{409, body("conflict_error", "busy"), model.Provider, "busy"},
		{413, body("request_too_large", "Request exceeds the maximum size"), model.ContextOverflow, "maximum size"},
		{413, ``, model.ContextOverflow, "Too Large"},
		{422, `{"detail":"x"}`, model.InvalidRequest, "x"},
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
		{200, `{"id":"msg_1","type":"message"}`, model.Provider, vendortest.NotAStream},
	} {
		vendor.CheckRefusal(t, tt.status, tt.body, tt.class, tt.text)
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
		if got := (&refusal{kind: kind}).errorClass(); got != want {
			t.Errorf("the type %q is of class %s, want %s", kind, got, want)
		}
	}
	if got := (&refusal{kind: "invalid_request_error", message: "Prompt is too long"}).errorClass(); got != model.ContextOverflow {
		t.Errorf("a prompt that is too long is of class %s", got)
	}
}
