package vendorhttp

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// Base implements the methods of executors that do not depend on the vendor.
type Base struct {
	vendor string
	api    *API
	begin  func(*model.Request) Exchange
}

// NewBase returns the base of a vendor's executor. begin returns the exchange for a request.
func NewBase(vendor string, api *API, begin func(*model.Request) Exchange) Base {
	return Base{vendor, api, begin}
}

// Vendor returns the vendor, or the cloud that serves the models.
func (b *Base) Vendor() string { return b.vendor }

// CatalogVendor returns the vendor that serves the models; empty for an unknown server.
func (b *Base) CatalogVendor() string { return b.api.CatalogVendor() }

// RejectedFields returns the optional fields that the server was found to reject.
func (b *Base) RejectedFields() []string { return b.api.RejectedFields() }

// CheckEdits returns warnings for edits that change nothing.
func (b *Base) CheckEdits(_ string, edits *spec.RequestEdits, earlier ...*spec.RequestEdits) diag.List {
	return b.api.CheckEdits(edits, earlier...)
}

// Stream calls the model and returns its answer as it arrives.
func (b *Base) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) { b.api.Ask(ctx, req, b.begin, yield) }
}
