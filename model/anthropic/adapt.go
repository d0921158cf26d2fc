package anthropic

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// afterRefusal returns the concessions with which to repeat a rejected plan. Concessions are
// never revoked, so the repetitions end.
func (c concessions) afterRefusal(failure *model.Error, p *plan) (concessions, bool) {
	refusal, ok := errors.AsType[*refusal](failure.Err)
	badRequest := ok && (refusal.status == http.StatusBadRequest || refusal.status == http.StatusUnprocessableEntity)
	if !ok || !badRequest && refusal.status != http.StatusForbidden {
		return c, false
	}
	before := c
	said := strings.ToLower(refusal.message)
	if p.params.OutputConfig.Format != nil && blamesForm(said) {
		c.noForm = true
		return c, c != before
	}
	if !badRequest {
		return c, false
	}
	has := func(text string) bool { return strings.Contains(said, text) }
	thinking := p.params.Thinking
	switch {
	case has("in `thinking` block") || has("in `redacted_thinking` block") || has("blocks in the latest assistant message cannot be modified"):
		c.forgetReasoning = true
	case has("expected `thinking`"):
		c.pauseThinking = true
	case p.forced && has("tool_choice"):
		// A model that thinks unasked is first told not to think.
		c.unforced = c.thinksUnasked || thinking.is(thinkingDisabled)
		c.thinksUnasked = true
	case thinking.is(thinkingDisabled) && has("thinking"):
		c.alwaysThinks = true
		c.unforced = c.unforced || p.forced
	case thinking.is(thinkingEnabled) && has("adaptive"):
		c.adaptive = true
	case p.params.OutputConfig.Effort != "" && (has("effort") || has("output_config") && vendorhttp.SaysUnsupported(said)):
		c = c.lessEffort(p)
	case p.isThinking() && has("thinking") && (has("support") || vendorhttp.SaysUnsupported(said)):
		c.neverThinks = true
	case has("max_tokens"):
		if n := p.outputLimitFrom(said); n > 0 && (c.outputLimit == 0 || n < c.outputLimit) {
			c.outputLimit = n
		}
		if n := outputRoom(said); vendorhttp.LeastOutput <= n && n < int(p.params.MaxTokens) {
			c.outputRoom = n
		}
	default:
		c = c.lessSampling(said, p)
	}
	return c, c != before
}

// blamesForm reports whether a rejection is about the form of the answer.
func blamesForm(said string) bool {
	return vendorhttp.Mentions(said, "output_config.format", "output_format", "structured output", "structured_output", "json_schema", "json schema", "compiled grammar", "schema is too complex")
}

func (c concessions) lessEffort(p *plan) concessions {
	last := len(highestEfforts) - 1
	if c.effortSteps < last && p.params.OutputConfig.Effort == highestEfforts[c.effortSteps] {
		c.effortSteps++
	} else {
		c.noEffort = true
	}
	return c
}

// lessSampling drops one of temperature and top_p if the model does not accept both, and both if it
// accepts neither. An out-of-range value is the agent's mistake.
func (c concessions) lessSampling(said string, p *plan) concessions {
	if !strings.Contains(said, "temperature") && !strings.Contains(said, "top_p") {
		return c
	}
	switch {
	case strings.Contains(said, "both") && p.params.Temperature != nil && p.params.TopP != nil:
		c.oneSampling = true
	case vendorhttp.SaysFixed(said):
		c.noSampling = true
	}
	return c
}

// smallestLimit is the output limit of the oldest models, for rejections that name none.
const smallestLimit = 4096

// outputLimitFrom returns the output limit to use after the server rejected a larger one: the limit that the
// error names, or smallestLimit instead of a default. It returns 0 for other errors.
func (p *plan) outputLimitFrom(said string) int {
	sent := int(p.params.MaxTokens)
	switch named := vendorhttp.LowerOutputLimit(said, sent); {
	case strings.Contains(said, "context"):
		return 0
	case named > 0:
		return named
	case !p.limited && sent > smallestLimit && vendorhttp.SaysTooManyTokens(said):
		return smallestLimit
	default:
		return 0
	}
}

var noRoom = regexp.MustCompile(`exceed context limit: (\d+) \+ \d+ > (\d+)`)

// outputRoom returns the number of tokens that a rejection leaves for the answer; 0 if it does not
// say.
func outputRoom(said string) int {
	found := noRoom.FindStringSubmatch(said)
	if found == nil {
		return 0
	}
	used, err := strconv.Atoi(found[1])
	window, err2 := strconv.Atoi(found[2])
	if err != nil || err2 != nil {
		return 0
	}
	return window - used
}
