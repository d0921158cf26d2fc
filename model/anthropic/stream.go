package anthropic

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// exchange is one request. It starts with the concessions already known for the model.
type exchange struct {
	executor *Executor
	request  *model.Request
	granted  concessions
	// plan is the latest form of the request.
	plan *plan
}

// Encode returns the request with the concessions so far.
func (x *exchange) Encode() (path string, body []byte, err error) {
	if x.plan, err = x.executor.planRequest(x.request, x.granted); err != nil {
		return "", nil, err
	}
	if path = messagesPath; x.executor.at.Path != nil {
		if path, err = x.executor.at.Path(x.request.Model); err != nil {
			return "", nil, err
		}
	}
	body, err = x.plan.encodeBody()
	return path, body, err
}

// Concede avoids the feature for which the request was rejected, and remembers it.
func (x *exchange) Concede(refusal *model.Error) (more bool) {
	if x.granted, more = x.granted.afterRefusal(refusal, x.plan); more {
		x.executor.known.Remember(x.request.Model, x.granted.ofModel())
	}
	return more
}

// Translator returns the translator for the answer to the plan.
func (x *exchange) Translator() vendorhttp.Translator { return newAnswer(x.plan.report) }
