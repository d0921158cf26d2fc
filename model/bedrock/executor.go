// Package bedrock calls models through the Converse API of Amazon Bedrock. AWS's own packages sign
// requests and decode stream frames; only the tests use its client, which would add 8 MB to the
// binary.
package bedrock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"time"

	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/claude"
	"github.com/agentruntime/agentruntime/model/internal/cloudauth"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// executor calls the models of one provider. It is safe for concurrent use.
type executor struct {
	vendorhttp.Base
	// tools caches the encoded tool sets by dialect.
	tools map[*toolschema.Dialect]*vendorhttp.ToolCache[[]byte]
	known vendorhttp.Concessions[concessions]
}

var (
	_ model.Executor = (*executor)(nil)
	_ model.Vendor   = (*executor)(nil)

	_ model.ToolAdapter  = (*executor)(nil)
	_ model.FieldLearner = (*executor)(nil)
)

// CatalogVendor returns bedrock, at any address.
func (*executor) CatalogVendor() string { return "bedrock" }

// vendorKey matches API keys and access key IDs.
var vendorKey = regexp.MustCompile(`\bABSK[\w+/=*-]{8,}|\bbedrock-api-key-[\w+/=*-]{8,}|\b(AKIA|ASIA)[A-Z0-9*]{8,}`)

// Kind returns the provider type bedrock.
func Kind() model.ProviderKind {
	return vendorhttp.NewKind("bedrock", "Models that Amazon Bedrock serves.", New)
}

// New returns an executor. It makes no requests.
func New(settings model.Settings, c *Config) (model.Executor, error) {
	return newExecutor(settings, c, transports{vendorhttp.SharedTransport(), cloudauth.MetadataTransport()})
}

func newExecutor(settings model.Settings, c *Config, t transports) (model.Executor, error) {
	c, err := vendorhttp.Configured(settings, c)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if c.APIKey != "" {
		header.Set("Authorization", "Bearer "+c.APIKey)
	}
	e := &executor{tools: map[*toolschema.Dialect]*vendorhttp.ToolCache[[]byte]{}}
	for _, schemas := range []*toolschema.Dialect{toolschema.Bedrock, toolschema.Nova} {
		e.tools[schemas] = vendorhttp.NewToolCache(func(tools []model.Tool) ([]byte, error) { return encodeTools(schemas, tools) })
	}
	api, err := c.apiAccess().NewAPI(t.vendor, settings, vendorhttp.Protocol{
		Header: header, Keys: vendorKey, Refusal: readRefusal, Refine: refineRefusal,
		Accept: "application/vnd.amazon.eventstream", Framing: vendorhttp.Framing{Decode: decodeFrame},
		Names:     toolschema.Bedrock.Names,
		Authorize: c.authorize(t),
	})
	if err != nil {
		return nil, err
	}
	e.Base = vendorhttp.NewBase("bedrock", api, func(req *model.Request) vendorhttp.Exchange {
		return &exchange{executor: e, request: req, granted: e.known.Of(req.Model)}
	})
	return e, nil
}

// authorize returns the signer of requests; nil without credentials.
func (c *Config) authorize(t transports) vendorhttp.Authorize {
	if c.Credentials == nil {
		return nil
	}
	keys, signer, region := credential.NewCached(newKeySource(c, t).fetch), v4.NewSigner(), c.Region
	return func(ctx context.Context) (vendorhttp.Authorization, error) {
		current, err := keys.Get(ctx)
		if err != nil {
			return vendorhttp.Authorization{}, err
		}
		granted := vendorhttp.Authorization{Refused: keys.Drop, Sign: func(req *http.Request, body []byte) error {
			sum := sha256.Sum256(body)
			if err := signer.SignHTTP(req.Context(), current, req, hex.EncodeToString(sum[:]), "bedrock", region, time.Now()); err != nil {
				return vendorhttp.InvalidRequest("the request cannot be signed", err)
			}
			return nil
		}}
		if current.SessionToken != "" {
			granted.Headers = map[string]string{"X-Amz-Security-Token": current.SessionToken}
		}
		return granted, nil
	}
}

// ToolDialect returns the tool dialect of a model.
func (*executor) ToolDialect(name string) model.ToolDialect { return schemasOf(familyOf(name)) }

// CheckParams returns the parameters that the API does not have, and the values that it rejects.
func (*executor) CheckParams(name string, p *model.Params) []model.ParamFault {
	faults := p.MissingParams("seed", "service_tier", "verbosity")
	return append(faults, claude.CheckSampling(p, familyOf(name) == familyClaude)...)
}
