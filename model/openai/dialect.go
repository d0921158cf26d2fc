package openai

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// dialect describes the differences between the two APIs.
type dialect struct {
	// path is the request path, relative to the base URL.
	path string
	// encode returns the body of a request, without its tools and output format.
	encode func(*model.Request, concessions, peer) ([]byte, error)
	// declare returns one tool in the API's form, and named the choice of one tool.
	declare func(declaration) any
	named   func(tool string) any
	// output is the field with the required output format, and describe returns its value.
	output   string
	describe func(form outputForm, verbosity string) any
	// translate returns a translator for a provider's response to a request.
	translate func(req *model.Request, provider string) vendorhttp.Translator
	// vendorIDs describes the call IDs that the vendor's own servers accept.
	vendorIDs callIDs
	// schemas describes the tool schemas that the server accepts.
	schemas *toolschema.Dialect
}

// declaration is a function's declaration in both APIs.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict is always written: the Responses API treats its absence as true, and then rejects most
	// schemas.
	Strict bool `json:"strict"`
}

// peer is the recipient of a conversation.
type peer struct {
	// provider is the ID of the provider.
	provider string
	// ids describes the call IDs that the server accepts.
	ids callIDs
	// needsText is set if the content of an answer that only calls tools must be a text.
	needsText bool
}
