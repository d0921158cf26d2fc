// Package vertex calls models through Google Cloud's Vertex AI: Gemini like package google, and
// Claude like package anthropic.
package vertex

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/anthropic"
	"github.com/agentruntime/agentruntime/model/google"
	"github.com/agentruntime/agentruntime/model/internal/cloudauth"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/spec"
)

const (
	// geminiVersion and claudeVersion are the API versions in paths.
	geminiVersion = "v1beta1"
	claudeVersion = "v1"
	// messagesVersion is the version of Claude's API in bodies.
	messagesVersion = "vertex-2023-10-16"
)

// executor calls the models of one provider. It is safe for concurrent use.
type executor struct {
	gemini *google.Executor
	claude *anthropic.Executor
}

// publisherAPI is the API of one publisher of models.
type publisherAPI interface {
	model.Executor
	model.ParamChecker
	model.EditChecker
	model.ToolAdapter
}

// apiOf returns the API that serves a model.
func (e *executor) apiOf(name string) publisherAPI {
	if isClaude(name) {
		return e.claude
	}
	return e.gemini
}

var (
	_ model.Executor = (*executor)(nil)
	_ model.Vendor   = (*executor)(nil)

	_ model.ToolAdapter  = (*executor)(nil)
	_ model.FieldLearner = (*executor)(nil)
	_ model.ParamChecker = (*executor)(nil)
)

// Vendor returns vertex.
func (*executor) Vendor() string { return "vertex" }

// RejectedFields returns the optional fields that the server, which both APIs share, was found to
// reject.
func (e *executor) RejectedFields() []string { return e.gemini.RejectedFields() }

// CatalogVendor returns vertex.
func (*executor) CatalogVendor() string { return "vertex" }

// Kind returns the provider type vertex.
func Kind() model.ProviderKind {
	return vendorhttp.NewKind("vertex", "Gemini and Claude on Vertex AI.", New)
}

// New returns an executor. It makes no request.
func New(settings model.Settings, c *Config) (model.Executor, error) {
	return newExecutor(settings, c, transports{vendorhttp.SharedTransport(), cloudauth.MetadataTransport()})
}

// vendorKey matches the vendor's keys and tokens.
var vendorKey = regexp.MustCompile(`\bAIza[\w*-]{8,}|\bAQ\.[\w*-]{8,}|\bya29\.[\w.*-]{8,}`)

func newExecutor(settings model.Settings, c *Config, t transports) (model.Executor, error) {
	c, err := vendorhttp.Configured(settings, c)
	if err != nil {
		return nil, err
	}
	at := vendorhttp.Endpoint{Vendor: "vertex", Keys: vendorKey, Authorize: c.authorize(t)}
	baseURL := c.apiAccess().URL()
	e := &executor{}
	at.Path = func(name string) (string, error) {
		return c.path("google", name, ":streamGenerateContent?alt=sse")
	}
	if e.gemini, err = google.NewAt(settings, &google.Config{Request: c.Request, BaseURL: baseURL, Headers: c.Headers, APIVersion: geminiVersion}, at, t.vendor); err != nil {
		return nil, err
	}
	at.Path = func(name string) (string, error) {
		path, err := c.path("anthropic", name, ":streamRawPredict")
		return claudeVersion + "/" + path, err
	}
	e.claude, err = anthropic.NewAt(settings, &anthropic.Config{Request: c.Request, BaseURL: baseURL, Headers: c.Headers, MaxOutputTokens: c.MaxOutputTokens},
		anthropic.Endpoint{Endpoint: at, Version: messagesVersion}, t.vendor)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// path returns the request path for a model, relative to the API version. A name without a
// publisher is the vendor's own model; an endpoint's model belongs to the project.
func (c *Config) path(publisher, name, method string) (string, error) {
	segments := strings.Split(name, "/")
	if len(segments) == 1 {
		segments = []string{"publishers", publisher, "models", name}
	}
	if segments[0] != "projects" {
		segments = append([]string{"projects", c.Project, "locations", c.location()}, segments...)
	}
	for i, segment := range segments {
		if strings.Trim(segment, ".") == "" {
			return "", vendorhttp.InvalidRequest(fmt.Sprintf("invalid model name %q", name), nil)
		}
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/") + method, nil
}

// authorize returns the authorization of requests; nil if they need only the headers.
func (c *Config) authorize(t transports) vendorhttp.Authorize {
	switch {
	case c.APIKey != "":
		key := vendorhttp.Authorization{Headers: map[string]string{keyHeader: c.APIKey}}
		return func(context.Context) (vendorhttp.Authorization, error) { return key, nil }
	case c.usesTokens():
		return cloudauth.Bearer(newTokenSource(c, t).fetch)
	default:
		return nil
	}
}

// CheckParams returns the parameters that requests for a model do not support.
func (e *executor) CheckParams(name string, p *model.Params) []model.ParamFault {
	return e.apiOf(name).CheckParams(name, p)
}

// CheckEdits returns warnings for edits that change nothing.
func (e *executor) CheckEdits(name string, edits *spec.RequestEdits, earlier ...*spec.RequestEdits) diag.List {
	return e.apiOf(name).CheckEdits(name, edits, earlier...)
}

// ToolDialect returns the tool dialect of a model.
func (e *executor) ToolDialect(name string) model.ToolDialect {
	return e.apiOf(name).ToolDialect(name)
}

// Stream calls the model and returns its answer as it arrives.
func (e *executor) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return e.apiOf(req.Model).Stream(ctx, req)
}

// isClaude reports whether a model is Claude.
func isClaude(name string) bool {
	return strings.HasPrefix(name, "claude-") || strings.Contains(name, "publishers/anthropic/")
}
