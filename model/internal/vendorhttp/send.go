package vendorhttp

import (
	"bytes"
	"context"
	"net/http"

	"github.com/agentruntime/agentruntime/model"
)

// newRequest returns a request with a body for a path relative to the base URL.
func (a *API) newRequest(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	address, err := a.base.Parse(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = a.header.Clone()
	if a.granted.Sign != nil {
		err = a.granted.Sign(req, body)
	}
	return req, err
}

// send returns the response to a request. The caller closes its body, a stream that is limited. Any
// other response is an error.
func (a *API) send(req *http.Request) (*http.Response, error) {
	res, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	a.noteRefusal(res.StatusCode)
	decodeBody(res)
	res.Body = limitStream(res.Body, model.ActivityReporter(req.Context()))
	if body, refused := readRefusal(res); refused {
		return nil, a.refusalError(res, body)
	}
	return res, nil
}

// noteRefusal reports to the authorization that the server did not accept it.
func (a *API) noteRefusal(status int) {
	if (status == http.StatusUnauthorized || status == http.StatusForbidden) && a.granted.Refused != nil {
		a.granted.Refused()
	}
}
