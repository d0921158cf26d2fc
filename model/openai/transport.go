package openai

import (
	"net/http"

	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/openai/openai-go/v3/option"
)

// checkResponse turns every answer that is no stream into an error, and limits
// those that are.
func (e *Executor) checkResponse(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	return vendorhttp.CheckStream(res, e.refusalError)
}
