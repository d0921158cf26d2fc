package openai

import (
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
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
		{400, `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=look>"}}`, model.Provider, "The model wrote: <function=look>"},
		{400, body("json_validate_failed", "invalid_request_error", "", "Failed to generate JSON"), model.Provider, "Failed"},
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
		{400, `unknown field foo`, model.InvalidRequest, "unknown field foo"},
		{400, `prompt is too long: 9 tokens`, model.ContextOverflow, "too long"},
		{400, `{"errors":[{"message":"bad model"}]}`, model.InvalidRequest, "bad model"},
		{400, `{"error":{"message":{"detail":[{"loc":["body","seed"],"msg":"extra"}]},"code":3}}`, model.InvalidRequest, "body.seed: extra"},
		{400, `{"msg":"bad request body"}`, model.InvalidRequest, "bad request body"},
		{400, `{"detail":{"message":"bad thing"}}`, model.InvalidRequest, "bad thing"},
		{400, `{"status":400,"error":"Bad Request","message":"Unrecognized field \"foo\"","path":"/v1/chat"}`, model.InvalidRequest, "foo"},                                                                // Spring
		{400, `{"message":"additional properties","errors":[{"path":".body.seed","message":"should NOT have additional properties"}]}`, model.InvalidRequest, "additional properties: .body.seed: should"}, // Express
		{400, `{"error":{"message":"Invalid body","details":[{"field":"seed","message":"unknown"}]}}`, model.InvalidRequest, "Invalid body: seed: unknown"},
		{400, `{"error":"Bad Request"}`, model.InvalidRequest, "Bad Request"},
		{408, ``, model.Timeout, "Timeout"},
		{409, ``, model.Provider, "Conflict"},
		{402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, model.Unauthorized, "Insufficient Balance"},
		{400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error","code":"invalid_request_error"}}`, model.ModelNotFound, "Not Exist"},
		{400, `{"error":"Invalid model identifier \"m\". Please specify a valid downloaded model"}`, model.ModelNotFound, "downloaded"},
		{400, `{"error":{"message":"model 'm' not found, try pulling it first"}}`, model.ModelNotFound, "pulling"},
		{400, `{"error":{"message":"m is not a valid model ID","code":400}}`, model.ModelNotFound, "valid"},
		{400, `{"error":{"message":"tool look not found in the request of the model"}}`, model.InvalidRequest, "look"},
		{422, `{"detail":[{"loc":["body","x"],"msg":"extra fields not permitted"}]}`, model.InvalidRequest, "body.x: extra fields not permitted"},
		{413, body("rate_limit_exceeded", "tokens", "", "Request too large: Limit 6000, Requested 9000"), model.ContextOverflow, "Requested"}, // Groq
		{413, `Request Entity Too Large`, model.ContextOverflow, "Too Large"},
		{422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096\"}", model.ContextOverflow, "4096"}, // TGI
		{422, "{\"error\":{\"message\":\"`inputs` must have less than 4096 tokens\"}}", model.ContextOverflow, "4096"},                     // Together
		{520, `error code: 520`, model.Provider, "error code"},
		{400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"detail\":[{\"loc\":[\"body\",\"seed\"],\"msg\":\"extra\"}]}","provider_name":"x"}}}`, model.InvalidRequest, "returned error: body.seed: extra"},
		{400, `{"error":{"message":"Provider returned error","metadata":{"raw":"plain words"}}}`, model.InvalidRequest, "returned error: plain words"},
		{400, `{"error":{"message":"no more","metadata":["x"]}}`, model.InvalidRequest, "no more"},
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
		{200, `{"id":"chatcmpl-1","object":"chat.completion"}`, model.Provider, vendortest.NotAStream},
	} {
		for _, v := range vendors {
			v.CheckRefusal(t, tt.status, tt.body, tt.class, tt.text)
		}
	}
}

// A server that does not know the path usually supports the other API.
func TestAnUnknownPathNamesTheOtherAPI(t *testing.T) {
	for _, refusal := range []struct {
		status int
		body   string
	}{{404, "404 page not found"}, {404, `{"detail":"Not Found"}`}, {405, ""}} {
		vendors[Responses].CheckRefusal(t, refusal.status, refusal.body, model.InvalidRequest, "api: chat_completions")
		vendors[ChatCompletions].CheckRefusal(t, refusal.status, refusal.body, model.InvalidRequest, "check base_url")
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
		if got := (&refusal{code: code}).errorClass(); got != want {
			t.Errorf("code %q is of class %s, want %s", code, got, want)
		}
	}
	if got := (&refusal{kind: "authentication_error"}).errorClass(); got != model.Unauthorized {
		t.Errorf("the type authentication_error is of class %s", got)
	}
}
