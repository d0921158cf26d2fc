// Package agentruns speaks the agent-runs protocol: clients ask for runs of
// declared agents, or of agents that they describe themselves, with tools that the
// server runs and tools that the client answers for, and follow them as
// server-sent events. A run is a turn and a session is a session, so that every
// replica can show, follow and cancel what any of them works on.
package agentruns

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// Settings configures the surface. The Service is required.
type Settings struct {
	// Service runs the turns, and knows the agents and models.
	Service *service.Service
	// PublicURL is the prefix of addresses in cards; if empty, they are paths.
	PublicURL string
	// DefaultModel is the declared id of the model for specs without one; empty means the agent
	// defaults' model, or the only one.
	DefaultModel string
	// ToolBudgets are how often tools may be called in a run whose agent and request do not
	// say so, by their ids.
	ToolBudgets map[string]int
	// LocalToolTimeout is how long a run waits for its client to answer a call; 0
	// is settings.DefaultLocalToolTimeout.
	LocalToolTimeout time.Duration
	// Tools are patterns of declared tools that requests may name although their agent does
	// not have them; nil are those that only read and that no agent guards.
	Tools spec.Names
	// StrictToolResults refuses the answer to a call that has neither a result nor
	// an error. Some clients send such for a result that is empty.
	StrictToolResults bool
	// EncryptionKey has 32 bytes, with which the store keeps the headers of the tools
	// of sessions. Without one they are kept as they are.
	EncryptionKey []byte
	// KeepAlive is how often a stream with nothing to say sends a comment; 0 is
	// server.DefaultKeepAlive.
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
	// followed are the runs that clients follow.
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
	// ScopeIdentity is the scope that lets ask who one is.
	ScopeIdentity = "mantyx.identity:read"
	// TokenPrefix is what clients expect access tokens to begin with.
	TokenPrefix = "mantyx_"
)

// call is a request that is answered.
type call struct {
	*Surface
	w      http.ResponseWriter
	r      *http.Request
	caller service.Caller
}

// checkWorkspace reports a workspace in the path that is not the caller's: it is the
// tenant.
func (c *call) checkWorkspace() error {
	if slug := c.r.PathValue("workspace"); slug != "" && slug != c.caller.Tenant {
		return &requestError{Code: codeWorkspace, Message: "Workspace path does not match this credential", Hint: c.caller.Tenant}
	}
	return nil
}

// newComposer returns what composes turns in the revision of a caller as it is now.
func (s *Surface) newComposer(ctx context.Context, caller service.Caller) *composer {
	return &composer{
		set: s.settings.Service.SetFor(ctx, caller.Tenant), defaultModel: s.settings.DefaultModel, localToolTimeout: s.settings.LocalToolTimeout, budgets: s.settings.ToolBudgets,
		tools:   s.settings.Tools,
		guarded: func() (map[string]string, error) { return s.settings.Service.GuardedTools(ctx, caller.Tenant) },
	}
}

// readBody reads the body as a JSON object. An empty body counts as an empty object.
func (c *call) readBody() (fields, error) {
	if coding := c.r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, newInvalid("the body is encoded as %q; it must be plain JSON", clip.Text(coding))
	}
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
	OK     bool   `json:"ok"`
	Status string `json:"status,omitempty"`
	// Warnings are for what of the request had no effect.
	Warnings []warning `json:"warnings,omitempty"`
}

// listModels answers with the models there are.
func (c *call) listModels() error {
	return server.WriteJSON(c.w, http.StatusOK, modelsOf(c.settings.Service.Revision().Set(), c.settings.DefaultModel).listBody())
}

// userInfo answers with who asks.
func (c *call) userInfo() error {
	type workspace struct {
		ID   string `json:"id"`
		Slug string `json:"slug"`
		Name string `json:"name"`
	}
	tenant := c.caller.Tenant
	return server.WriteJSON(c.w, http.StatusOK, struct {
		Subject   string    `json:"sub"`
		Email     *string   `json:"email"` // which is not known of anybody here
		Workspace workspace `json:"workspace"`
	}{Subject: c.caller.Subject, Workspace: workspace{tenant, tenant, tenant}})
}
