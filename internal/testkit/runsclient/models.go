package runsclient

import (
	"context"
	"net/http"
)

// Catalog lists the models of a workspace.
type Catalog struct {
	Models         []Model `json:"models"`
	DefaultModelID *string `json:"defaultModelId"`
}

// Model is a model that a run can name.
type Model struct {
	ID                  string   `json:"id"`
	Label               string   `json:"label"`
	Provider            string   `json:"provider"`
	VendorModelID       string   `json:"vendorModelId"`
	Source              string   `json:"source"`
	ContextWindowTokens *int     `json:"contextWindowTokens"`
	Pricing             *Pricing `json:"pricing"`
}

// Pricing is the price of a model, in dollars per million tokens.
type Pricing struct {
	Input     float64  `json:"inputPer1MUsd"`
	Output    float64  `json:"outputPer1MUsd"`
	CacheRead *float64 `json:"cacheReadPer1MUsd"`
}

// Models returns the models of the workspace.
func (c *Client) Models(ctx context.Context) (*Catalog, error) {
	var catalog Catalog
	return &catalog, c.callAPI(ctx, http.MethodGet, c.Path("models"), nil, &catalog)
}
