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
	"github.com/agentruntime/agentruntime/spec"
)

// concessions are the features that requests avoid because the model rejected them. No
// machine-readable list exists and deployment names reveal nothing, so each feature is tried once
// per model, at the cost of a rejected request.
type concessions struct {
	// plainReasoning does not request encrypted reasoning, which models that do not reason reject.
	plainReasoning bool
	// noSummary does not request a summary of the reasoning.
	noSummary bool
	// refusedEfforts are the reasoning efforts unknown to the model. If no other level is close
	// to the requested one, the vendor decides.
	refusedEfforts effortSet
	// freeChoice leaves the choice of tools to the model. If it must not call tools, it is offered
	// none.
	freeChoice bool
	// noOutputForm does not request an output format.
	noOutputForm bool
	// looseSchema disables strict mode. Like the next field, it concerns the request and not the
	// model: a schema assumed to be supported was rejected.
	looseSchema bool
	// noStrict omits the field strict of the output format.
	noStrict bool
	// shortDescriptions truncates tool descriptions to 1024 characters, which some models require.
	shortDescriptions bool
	// shortIDs and mistralIDs adapt call IDs to the limits of the vendor, or of Mistral, whose
	// models other servers also serve.
	shortIDs, mistralIDs bool
	// needsText sends an empty text instead of null as the content of an answer that only calls tools.
	needsText bool
	// noTemperature and noTopP omit settings that reasoning models reject.
	noTemperature, noTopP bool
	// outputLimit is the model's maximum number of output tokens; 0 if unknown.
	outputLimit int
	// outputRoom is the number of tokens that the conversation leaves for the answer; 0 if unknown.
	outputRoom int
	// forgetReasoning omits the reasoning of earlier answers, because reasoning encrypted for
	// another organization is unreadable.
	forgetReasoning bool
}

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

// maxOutput returns the output limit of a request; 0 for none.
func (c concessions) maxOutput(req *model.Request) int {
	limit := max(req.MaxOutputTokens, 0)
	for _, most := range []int{c.outputLimit, c.outputRoom} {
		if most > 0 {
			limit = min(limit, most)
		}
	}
	return limit
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

// acceptedSampling returns the temperature and top_p of a request, nil where the server rejected them.
func (c concessions) acceptedSampling(req *model.Request) (temperature, topP *float64) {
	temperature, topP = req.Temperature, req.TopP
	if c.noTemperature {
		temperature = nil
	}
	if c.noTopP {
		topP = nil
	}
	return temperature, topP
}

// blamesSchema reports whether the rejection concerns the content of a schema.
func (r *refusal) blamesSchema() bool {
	return r.code == "invalid_json_schema" || strings.HasSuffix(r.param, ".schema") ||
		strings.Contains(strings.ToLower(r.message), "invalid schema")
}

// ofModel returns the concessions that are a matter of the model.
func (c concessions) ofModel() concessions {
	c.forgetReasoning, c.looseSchema, c.outputRoom = false, false, 0
	return c
}

// effortLevel is one of the vendor's levels of reasoning effort.
type effortLevel string

const (
	effortNone    effortLevel = "none"
	effortMinimal effortLevel = "minimal"
	effortLow     effortLevel = "low"
	effortMedium  effortLevel = "medium"
	effortHigh    effortLevel = "high"
	effortXhigh   effortLevel = "xhigh"
	effortMax     effortLevel = "max"
)

// effortSet is a set of levels of reasoning effort.
type effortSet uint8

// allEfforts is the set of all levels.
const allEfforts effortSet = 1<<7 - 1

var (
	efforts = []effortLevel{
		effortNone, effortMinimal, effortLow,
		effortMedium, effortHigh, effortXhigh, effortMax,
	}
	// highestEfforts and lowestEfforts are the equivalents of the levels max and off, best first:
	// few models know all.
	highestEfforts = []effortLevel{effortMax, effortXhigh, effortHigh}
	lowestEfforts  = []effortLevel{effortNone, effortMinimal, effortLow}
)

// setOf returns the set of one level; it is empty for a level that there is not.
func setOf(level effortLevel) effortSet {
	if i := slices.Index(efforts, level); i >= 0 {
		return 1 << i
	}
	return 0
}

// The token budgets that the levels of reasoning effort are commonly held to
// stand for. The API knows only levels.
const (
	lowBudget    = 1 << 10
	mediumBudget = 8 << 10
	highBudget   = 24 << 10
)

// reasoningEffort returns the vendor's level of reasoning effort, empty to leave it to
// the vendor.
func (c concessions) reasoningEffort(req *model.Request) effortLevel {
	if req.ReasoningEffort == nil {
		return ""
	}
	for _, level := range levelsOf(req.ReasoningEffort) {
		if c.refusedEfforts&setOf(level) == 0 {
			return level
		}
	}
	return ""
}

// levelsOf returns the vendor's levels for an effort, best first.
func levelsOf(e *spec.Effort) []effortLevel {
	switch level := e.Standard(); {
	case level == "max":
		return highestEfforts
	case level == "off":
		return lowestEfforts
	case level != "":
		return []effortLevel{effortLevel(level)}
	case e.Budget <= 0:
		return nil
	case e.Budget < (lowBudget+mediumBudget)/2:
		return []effortLevel{effortLow}
	case e.Budget < (mediumBudget+highBudget)/2:
		return []effortLevel{effortMedium}
	default:
		return []effortLevel{effortHigh}
	}
}
