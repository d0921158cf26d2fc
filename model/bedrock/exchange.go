package bedrock

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// exchange is one request. It starts with the concessions already known for the model.
type exchange struct {
	executor *executor
	request  *model.Request
	granted  concessions
	plan     *plan
}

// Encode returns the request with the concessions so far.
func (x *exchange) Encode() (path string, body []byte, err error) {
	if x.request.Model == "" {
		return "", nil, vendorhttp.InvalidRequest("upstream_model must be the ID of a model or an inference profile", nil)
	}
	if x.plan, err = x.executor.planRequest(x.request, x.granted); err != nil {
		return "", nil, err
	}
	operation := "/converse-stream"
	if x.granted.has(whole) {
		operation = "/converse"
	}
	body, err = x.plan.encodeBody()
	return "model/" + httpbinding.EscapePath(x.request.Model, true) + operation, body, err
}

// Concede avoids the feature for which the request was rejected, and remembers it.
func (x *exchange) Concede(refusal *model.Error) (more bool) {
	if x.granted, more = x.granted.afterRefusal(refusal, x.plan); more {
		x.executor.known.Remember(x.request.Model, x.granted.ofModel())
	}
	return more
}

// Translator returns the translator for the answer.
func (x *exchange) Translator() vendorhttp.Translator { return newAnswer() }

// planRequest decides how a request is sent. If no tools may be called, the calls in the
// conversation are written as text: the API rejects them otherwise, and has no other way to prevent
// a model from calling tools.
func (e *executor) planRequest(req *model.Request, c concessions) (*plan, error) {
	p := &plan{cached: req.Cache && !c.has(noCache)}
	mayCall, family := len(req.Tools) > 0 && req.ToolChoice.Mode != model.ToolsNone, familyOf(req.Model)
	if mayCall {
		var err error
		if p.tools, err = e.tools[schemasOf(family)].Encoded(req.Tools); err != nil {
			return nil, err
		}
		p.chooseTools(req.ToolChoice, c)
	}
	w := writer{asText: !mayCall, withReasoning: mayCall && !c.has(forgetReasoning) && (family == familyClaude || family == familyUnknown)}
	if err := w.writeConversation(req.Messages); err != nil {
		return nil, err
	}
	p.body.System, p.body.Messages = w.system, w.messages
	if w.withReasoning && hasReasoning(w.messages) {
		p.features |= sendsReasoning
	}
	p.body.InferenceConfig.MaxTokens = max(req.MaxOutputTokens, 0)
	p.askEffort(req, family, c)
	p.setSampling(req, c)
	p.askForm(req, family, c)
	if p.cached {
		p.markCached()
		p.toolsCached = p.tools != nil && !c.has(noToolCache) && (family == familyClaude || family == familyUnknown)
	}
	return p, nil
}
