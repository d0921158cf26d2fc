package bedrock

import (
	"errors"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// concessions are features that a request omits or expresses differently, because the model
// rejected them. Names of inference profiles reveal nothing about the model, so each is tried at
// most once per model, at the price of a rejected request.
type concessions uint16

const (
	// noCache disables all cache marks, noToolCache those for tools.
	noCache concessions = 1 << iota
	noToolCache
	// adaptive requests thinking by effort level, because newer models reject a budget.
	adaptive
	// noEffort does not request reasoning.
	noEffort
	// noSampling sends neither temperature nor top_p, oneSampling at most one of them.
	noSampling
	oneSampling
	// freeChoice leaves the choice of tools to the model.
	freeChoice
	// formAsText requests the form of the answer in the instructions.
	formAsText
	// whole disables streaming, which the model does not support.
	whole
	// forgetReasoning omits the reasoning of earlier answers. It depends on the conversation, not
	// on the model.
	forgetReasoning
)

func (c concessions) has(one concessions) bool { return c&one != 0 }

// afterRefusal returns the concessions with which to repeat a rejected request. Concessions are
// never revoked, so the repetitions end.
func (c concessions) afterRefusal(failure *model.Error, p *plan) (concessions, bool) {
	r, ok := errors.AsType[*refusal](failure.Err)
	if !ok || r.status != http.StatusBadRequest && r.status != http.StatusForbidden {
		return c, false
	}
	before := c
	said := strings.ToLower(r.message)
	has := func(texts ...string) bool { return vendorhttp.Mentions(said, texts...) }
	switch {
	case p.cached && has("cachepoint", "cache point", "prompt caching"):
		if c.has(noToolCache) || !has("tools", "toolconfig") {
			c |= noCache
		}
		c |= noToolCache
	case r.status != http.StatusBadRequest:
	case p.has(thinks) && has("adaptive"):
		c |= adaptive
	case has("streaming", "streamed") && has("support"):
		c |= whole
	case p.body.OutputConfig.TextFormat != nil && has("outputconfig", "output_config", "textformat", "json schema", "structured output", "output_format"):
		c |= formAsText
	case p.has(sendsReasoning) && has("signature", "reasoning", "thinking` block", "redacted"):
		c |= forgetReasoning
	case p.has(chooses) && has("toolchoice", "tool_choice", "tool choice"):
		c |= freeChoice
	case p.has(asksEffort) && has("thinking", "reasoning", "effort"):
		c |= noEffort
	case has("temperature", "top_p", "topp"):
		c = c.lessSampling(said, p)
	}
	return c, c != before
}

// lessSampling gives up temperature and top_p where the model does not accept both, or
// any. A value that is out of range is the agent's mistake.
func (c concessions) lessSampling(said string, p *plan) concessions {
	switch i := p.body.InferenceConfig; {
	case strings.Contains(said, "both") && i.Temperature != nil && i.TopP != nil:
		c |= oneSampling
	case strings.Contains(said, "support") || vendorhttp.SaysFixed(said):
		c |= noSampling
	}
	return c
}

// ofModel returns the concessions that are a matter of the model.
func (c concessions) ofModel() concessions { return c &^ forgetReasoning }
