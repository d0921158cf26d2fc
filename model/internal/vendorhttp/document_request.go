package vendorhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/agentruntime/agentruntime/model"
)

// maxFetched is the maximum size of fetched documents, in bytes. OpenRouter's list of models is
// about 1 MB.
const maxFetched = 8 << 20

// Fetch returns the JSON document at a path relative to the base URL. It sends a GET request, or a
// POST request if there is a body. Any status other than 200 is a *model.Error.
func (a *API) Fetch(ctx context.Context, path string, body []byte) ([]byte, error) {
	bound, err := a.bindCall(ctx)
	if err != nil {
		return nil, err
	}
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := bound.newRequest(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := bound.client.Do(req)
	if err != nil {
		return nil, bound.failures.ofRequest(ctx, err)
	}
	decodeBody(res)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, bound.failures.named(&model.Error{Class: model.Provider, Status: res.StatusCode, Message: "cannot fetch " + req.URL.Path})
	}
	data, err := io.ReadAll(io.LimitReader(limitStream(res.Body, nil), maxFetched+1))
	if err == nil && len(data) > maxFetched {
		err = fmt.Errorf("fetch %s: the answer exceeds %d bytes", req.URL.Path, maxFetched)
	}
	return data, err
}
