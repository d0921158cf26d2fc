// Package agentruns serves the agent-runs protocol: clients run declared agents, or agents that
// they describe themselves, with tools that the server runs and tools that the client answers, and
// follow the runs as server-sent events. A run is a turn and a session is a session, so every
// replica can show, follow and cancel runs of any other.
package agentruns

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// Settings configures the surface. The Service is required.
type Settings struct {
	// Service runs the turns and provides the agents and models.
	Service *service.Service
	// PublicURL is the prefix of addresses in cards; if empty, they are paths.
	PublicURL string
	// DefaultModel is the declared id of the model for specs without one; empty means the agent
	// defaults' model, or the only one.
	DefaultModel string
	// ToolBudgets limit the calls of a tool in a run, by tool id, if neither the agent nor the
	// request sets a limit.
	ToolBudgets map[string]int
	// LocalToolTimeout is how long a run waits for its client to answer a call; 0 means
	// settings.DefaultLocalToolTimeout.
	LocalToolTimeout time.Duration
	// Tools are patterns of declared tools that requests may name although their agent does not
	// have them; nil allows read-only tools that no agent guards.
	Tools spec.Names
	// StrictToolResults rejects an answer with neither a result nor an error. Some clients send
	// that for an empty result.
	StrictToolResults bool
	// EncryptionKey is the 32-byte key that encrypts the headers of session tools in the store.
	// Without it they are stored in plain text.
	EncryptionKey []byte
	// KeepAlive is the interval of comments on an idle stream; 0 means server.DefaultKeepAlive.
	KeepAlive time.Duration
	// Logger logs internal errors; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Surface is the protocol. It is safe for concurrent use.
type Surface struct {
	settings Settings
	// box seals secrets; nil without a key.
	box *sealed.Box
	// followed tracks the runs that clients follow.
	followed followedRuns
}

var (
	_ server.Surface     = (*Surface)(nil)
	_ server.ErrorWriter = (*Surface)(nil)

	_ server.FailureWriter = (*Surface)(nil)
)

// New returns the surface. It fails if a setting is missing.
func New(s Settings) (*Surface, error) {
	if err := surfacekit.CheckService(s.Service); err != nil {
		return nil, err
	}
	s.LocalToolTimeout = cmp.Or(s.LocalToolTimeout, settings.DefaultLocalToolTimeout)
	s.KeepAlive = cmp.Or(s.KeepAlive, server.DefaultKeepAlive)
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	box, err := sealed.New(s.EncryptionKey)
	if err != nil {
		return nil, err
	}
	return &Surface{settings: s, box: box}, nil
}

const (
	// scopeIdentity allows callers to read their own identity.
	scopeIdentity = "mantyx.identity:read"
	// TokenPrefix is the prefix that clients expect of access tokens.
	TokenPrefix = "mantyx_"
)

// call is a request being handled.
type call struct {
	*Surface
	w      http.ResponseWriter
	r      *http.Request
	caller service.Caller
}

// checkWorkspace returns an error if the workspace in the path is not the caller's tenant.
func (c *call) checkWorkspace() error {
	if slug := c.r.PathValue("workspace"); slug != "" && slug != c.caller.Tenant {
		return &requestError{Code: codeWorkspace, Message: "Workspace path does not match this credential", Hint: c.caller.Tenant}
	}
	return nil
}

// newComposer returns a composer of turns in the caller's current revision.
func (s *Surface) newComposer(ctx context.Context, caller service.Caller) *composer {
	return &composer{
		set: s.settings.Service.SetFor(ctx, caller.Tenant), settings: s.settings,
		guarded: func() (map[string]string, error) { return s.settings.Service.GuardedTools(ctx, caller.Tenant) },
	}
}

// readBody reads the body as a JSON object. An empty body counts as an empty object.
func (c *call) readBody() (fields, error) {
	data, err := io.ReadAll(c.r.Body)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return fields{}, nil
	}
	return decodeBody(data)
}

// done is the body of a successful action.
type done struct {
	OK       bool     `json:"ok" const:"true"`
	Status   string   `json:"status,omitempty" ref:"Status"`
	Warnings warnings `json:"warnings,omitempty"`
}

// listModels responds with the available models.
func (c *call) listModels() error {
	return server.WriteJSON(c.w, http.StatusOK, modelsOf(c.settings.Service.Revision().Set(), c.settings.DefaultModel).listBody())
}

// identity is the subject and workspace of a credential.
type identity struct {
	Subject   string    `json:"sub"`
	Email     *string   `json:"email" type:"'null'" jsonschema:"Always null."`
	Workspace workspace `json:"workspace"`
}

type workspace struct {
	ID   string `json:"id"`
	Slug string `json:"slug" jsonschema:"The name in paths."`
	Name string `json:"name"`
}

// userInfo responds with the caller's identity.
func (c *call) userInfo() error {
	tenant := c.caller.Tenant
	return server.WriteJSON(c.w, http.StatusOK, identity{Subject: c.caller.Subject, Workspace: workspace{tenant, tenant, tenant}})
}
