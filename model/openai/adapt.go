package openai

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// afterRefusal returns the concessions with which a refused request is worth retrying.
func (c concessions) afterRefusal(failure *model.Error, req *model.Request) (concessions, bool) {
	r, ok := errors.AsType[*refusal](failure.Err)
	if !ok || r.status != http.StatusBadRequest && r.status != http.StatusUnprocessableEntity {
		return c, false
	}
	before := c
	switch {
	case r.code == "invalid_encrypted_content":
		c.forgetReasoning = true
	case len(req.Tools) > 0 && r.code == "string_above_max_length" && strings.HasSuffix(r.param, ".description"):
		c.shortDescriptions = true
	case r.code == "string_above_max_length" && strings.HasSuffix(r.param, "id"):
		c.shortIDs = true
	case strings.Contains(r.message, "length of 9"): // of a call ID
		c.mistralIDs = true
	case nullContent.MatchString(r.message):
		c.needsText = true
	case strings.HasPrefix(r.param, "include"), r.saysUnsupported() && includeField.MatchString(r.message):
		c.plainReasoning = true
	case req.Temperature != nil && r.blamesField("temperature") && vendorhttp.SaysFixed(r.message):
		c.noTemperature = true
	case req.TopP != nil && r.blamesField("top_p") && vendorhttp.SaysFixed(r.message):
		c.noTopP = true
	case r.outputRoom(c.maxOutput(req)) > 0:
		c.outputRoom = r.outputRoom(c.maxOutput(req))
	case r.lowerOutputLimit(c.maxOutput(req)) > 0:
		c.outputLimit = r.lowerOutputLimit(c.maxOutput(req))
	case r.blamesField("reasoning.summary"):
		c.noSummary = true
	case r.blamesField("reasoning.effort", "reasoning_effort"):
		c.refusedEfforts |= setOf(c.reasoningEffort(req))
	case c.reasoningEffort(req) != "" && noThinking.MatchString(r.message):
		c.refusedEfforts = allEfforts
	case req.Output != nil && !c.noStrict && r.rejectsStrict():
		c.noStrict = true
	case req.Output != nil && r.blamesField("response_format", "text.format", "json_schema"):
		if !r.blamesSchema() {
			c.noOutputForm = true
		} else if strict := formOf(req.Output, c).Strict; strict != nil && *strict {
			c.looseSchema = true
		}
	case req.ToolChoice.Mode != model.ToolsAuto && r.blamesField("tool_choice"):
		c.freeChoice = true
	}
	return c, c != before
}

// blamesField reports whether the refusal concerns one of the fields. Compatible servers name it
// only in their message.
func (r *refusal) blamesField(fields ...string) bool {
	message := r.message + "\n" + vendorhttp.SnakeCase(r.message)
	return slices.ContainsFunc(fields, func(field string) bool {
		return strings.HasPrefix(r.param, field) || strings.Contains(message, field)
	})
}

// includeField matches the field include in messages such as "body.include: Extra inputs are not
// permitted" and "Unknown parameter: 'include'".
var includeField = regexp.MustCompile("(?:body\\.|['\"`])include\\b")

// nullContent matches what servers say of content that is null, as Cloudflare does: "Type mismatch of
// '/messages/1/content', 'string' not in 'null'".
var nullContent = regexp.MustCompile(`(?i)messages?\b.*\bcontent\b.*\b(null|none|nil|valid string|a string)\b`)

// lowerOutputLimit returns the output limit that a refusal of a larger one names; 0 if it names none.
func (r *refusal) lowerOutputLimit(sent int) int {
	if !r.blamesField("max_tokens", "max_completion_tokens", "max_output_tokens") || r.saysContextOverflow() {
		return 0
	}
	return vendorhttp.LowerOutputLimit(r.message, sent)
}

// noThinking matches what servers say of models that do not reason, as Ollama does: "qwen2.5 does not
// support thinking".
var noThinking = regexp.MustCompile(`(?i)(not support|unsupported|not (available|enabled)).*\b(think value|thinking|reasoning)\b|\b(think value|thinking|reasoning)\b.*(not support|unsupported|not (available|enabled))`)

// The numbers in refusals of conversations that leave less room for the answer than requested. vLLM:
// "max_tokens is too large: 16384. This model's maximum context length is 8192 tokens and your request
// has 500 input tokens".
var (
	windowSize = regexp.MustCompile(`(?i)maximum context length (?:is|of) (\d+)`)
	inputSize  = regexp.MustCompile(`(?i)(\d+)(?: tokens?)? (?:input tokens|in the (?:messages|prompt|input)|of text input|from the input)|prompt contains at least (\d+)`)
)

// outputRoom returns how many tokens a conversation leaves for the answer; 0 if the refusal does not say,
// or if it is too little.
func (r *refusal) outputRoom(sent int) int {
	window, input := windowSize.FindStringSubmatch(r.message), inputSize.FindStringSubmatch(r.message)
	if window == nil || input == nil {
		return 0
	}
	size, err := strconv.Atoi(window[1])
	used, err2 := strconv.Atoi(input[1] + input[2])
	if room := size - used; err == nil && err2 == nil && vendorhttp.LeastOutput <= room && room < sent {
		return room
	}
	return 0
}

// strictWord matches the name of the field strict, alone or at the end of a path.
var strictWord = regexp.MustCompile(`\bstrict\b`)

// rejectsStrict reports whether the server does not know the field strict in the form of an answer.
func (r *refusal) rejectsStrict() bool {
	if !strictWord.MatchString(r.param+" "+r.message) || !r.saysUnsupported() || r.blamesSchema() {
		return false
	}
	return r.blamesField("response_format", "text.format", "json_schema") || !strings.Contains(r.param+r.message, "tools")
}

func (r *refusal) saysUnsupported() bool { return vendorhttp.SaysUnsupported(r.code + " " + r.message) }

// blamesSchema reports whether the rejection concerns the content of a schema.
func (r *refusal) blamesSchema() bool {
	return r.code == "invalid_json_schema" || strings.HasSuffix(r.param, ".schema") ||
		strings.Contains(strings.ToLower(r.message), "invalid schema")
}
