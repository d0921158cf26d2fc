package bedrock

import (
	"errors"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

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
