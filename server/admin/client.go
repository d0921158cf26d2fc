package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
)

// Client reads and changes the configuration of a server. It returns the same errors as a
// native.Client.
type Client struct {
	native *native.Client
	// at is the start of request paths.
	at []string
}

// NewClient returns a client that sends its requests with c.
func NewClient(c *native.Client) *Client { return &Client{native: c} }

// ForTenant returns a client for the overlay of a tenant.
func (c *Client) ForTenant(tenant string) *Client {
	return &Client{native: c.native, at: []string{"tenants", tenant}}
}

// path returns the path of a request.
func (c *Client) path(parts ...string) []string { return append(slices.Clip(c.at), parts...) }

// send sends a request and returns the decoded response.
func send[T any](ctx context.Context, c *Client, method string, path []string, query url.Values, body any) (*T, error) {
	into := new(T)
	return into, c.native.Do(ctx, &native.Request{Method: method, Path: path, Query: query, Body: body}, into)
}

// pageQuery returns the query of a request for a page.
func pageQuery(after string, limit int) url.Values {
	query := url.Values{}
	if after != "" {
		query.Set("after", after)
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return query
}

// ListTenants returns a page of the tenants with overlays, by name. It lists all of them, even for
// the client of one tenant.
func (c *Client) ListTenants(ctx context.Context, after string, limit int) (*TenantList, error) {
	return send[TenantList](ctx, c, http.MethodGet, []string{"tenants"}, pageQuery(after, limit), nil)
}

// ListRevisions returns a page of revisions, the newest first.
func (c *Client) ListRevisions(ctx context.Context, after string, limit int) (*RevisionList, error) {
	return send[RevisionList](ctx, c, http.MethodGet, c.path("revisions"), pageQuery(after, limit), nil)
}

// CurrentHash returns the hash of the latest published revision, or "" before the first.
func (c *Client) CurrentHash(ctx context.Context) (string, error) {
	list, err := c.ListRevisions(ctx, "", 1)
	if err != nil || len(list.Revisions) == 0 {
		return "", err
	}
	return list.Revisions[0].Hash, nil
}

// FindHash returns the hash of a revision, given its number or a prefix of its hash.
func (c *Client) FindHash(ctx context.Context, text string) (string, error) {
	var found string
	for after := ""; ; {
		list, err := c.ListRevisions(ctx, after, maxPage)
		if err != nil {
			return "", err
		}
		for i := range list.Revisions {
			r := &list.Revisions[i]
			switch {
			case strconv.FormatUint(r.Number, 10) == text || r.Hash == text:
				return r.Hash, nil
			case strings.HasPrefix(r.Hash, text) && found != "" && found != r.Hash:
				return "", fmt.Errorf("several revisions have a hash that begins so: %s", text)
			case strings.HasPrefix(r.Hash, text):
				found = r.Hash
			}
		}
		if after = list.Next; after == "" {
			break
		}
	}
	if found == "" {
		return "", fmt.Errorf("revision %s not found", text)
	}
	return found, nil
}

// ReadRevision returns a revision with its document.
func (c *Client) ReadRevision(ctx context.Context, hash string) (*Revision, error) {
	return send[Revision](ctx, c, http.MethodGet, c.path("revisions", hash), nil, nil)
}

// DiffRevision compares a revision with an earlier one, by default with its predecessor.
func (c *Client) DiffRevision(ctx context.Context, hash, from string) (*resolve.DiffReport, error) {
	query := url.Values{}
	if from != "" {
		query.Set("from", from)
	}
	return send[resolve.DiffReport](ctx, c, http.MethodGet, c.path("revisions", hash, "diff"), query, nil)
}

// Explanation is a resolved agent, with the paths that decided its fields.
type Explanation struct {
	*resolve.Summary

	Decisions []config.Decision `json:"decisions"`
}

// ExplainAgent returns how an agent resolves in the server's current revision.
func (c *Client) ExplainAgent(ctx context.Context, agentID string) (*Explanation, error) {
	var out struct {
		Explanation *Explanation `json:"explanation"`
	}
	err := c.native.Do(ctx, &native.Request{Method: http.MethodGet, Path: c.path("agents", agentID, "explain")}, &out)
	if err == nil && (out.Explanation == nil || out.Explanation.Summary == nil) {
		err = errors.New("the answer has no explanation")
	}
	return out.Explanation, err
}

// Change configures how something is published.
type Change struct {
	// Expected is the hash of the revision to change; empty for the first.
	Expected string
	Note     string
	// DryRun publishes nothing.
	DryRun bool
	// FailOn is the effect that prevents publishing: widened, lost, or empty.
	FailOn string
	// ExceptBroken publishes a base although it breaks tenants' overlays, which stay over their
	// current base.
	ExceptBroken bool
	// Progress receives the number of tenant overlays proven so far; it may be nil.
	Progress func(done, total int)
}

func (c *Client) publish(ctx context.Context, change *Change, body any, path ...string) (*Published, error) {
	query := url.Values{}
	if change.DryRun {
		query.Set("dry_run", "true")
	}
	if change.FailOn != "" {
		query.Set("fail_on", change.FailOn)
	}
	if change.ExceptBroken {
		query.Set("tenants", "except-broken")
	}
	out := new(Published)
	request := &native.Request{
		Method: http.MethodPost, Path: c.path(path...), Query: query, Body: body,
		Header: http.Header{"If-Match": {`"` + cmp.Or(change.Expected, noRevision) + `"`}},
	}
	if change.Progress != nil {
		return out, c.native.DoFollowed(ctx, request, out, change.Progress)
	}
	return out, c.native.Do(ctx, request, out)
}

// Publish publishes a document.
func (c *Client) Publish(ctx context.Context, document json.RawMessage, change *Change) (*Published, error) {
	return c.publish(ctx, change, publishRequest{Document: document, Note: change.Note}, "revisions")
}

// RollBack publishes the document of an earlier revision again.
func (c *Client) RollBack(ctx context.Context, hash string, change *Change) (*Published, error) {
	return c.publish(ctx, change, noteRequest{change.Note}, "revisions", hash, "rollback")
}

// Compare returns the changes that a document would make, and its findings.
func (c *Client) Compare(ctx context.Context, document json.RawMessage) (*Proof, error) {
	return send[Proof](ctx, c, http.MethodPost, c.path("validate"), nil, documentRequest{document})
}

// ListTenantVariables returns the variables of a tenant.
func (c *Client) ListTenantVariables(ctx context.Context, tenant string) (*VariableList, error) {
	return send[VariableList](ctx, c, http.MethodGet, []string{"tenants", tenant, "variables"}, nil, nil)
}

// SetTenantVariable sets a variable of a tenant. The response does not contain secret values.
func (c *Client) SetTenantVariable(ctx context.Context, tenant, name, value string) (*service.TenantVariable, error) {
	return send[service.TenantVariable](ctx, c, http.MethodPut, []string{"tenants", tenant, "variables", name}, nil, variableRequest{&value})
}

// DeleteTenantVariable deletes a tenant's value of a variable.
func (c *Client) DeleteTenantVariable(ctx context.Context, tenant, name string) error {
	_, err := send[deletedVariable](ctx, c, http.MethodDelete, []string{"tenants", tenant, "variables", name}, nil, nil)
	return err
}

// loginPath is the path of a login.
func loginPath(tenant, toolServer string, more ...string) []string {
	return append([]string{"tenants", tenant, "logins", toolServer}, more...)
}

// StartLogin starts a login at an MCP server, which FinishLogin completes.
func (c *Client) StartLogin(ctx context.Context, tenant, toolServer string, in *LoginRequest) (*StartedLogin, error) {
	return send[StartedLogin](ctx, c, http.MethodPost, loginPath(tenant, toolServer), nil, in)
}

// FinishLogin passes on the query with which the browser has returned.
func (c *Client) FinishLogin(ctx context.Context, tenant, toolServer string, in *FinishRequest) (*Login, error) {
	return send[Login](ctx, c, http.MethodPost, loginPath(tenant, toolServer, "finish"), nil, in)
}

// DeleteLogin deletes a login and revokes its tokens.
func (c *Client) DeleteLogin(ctx context.Context, tenant, toolServer, subject string) (*DeletedLogin, error) {
	query := url.Values{}
	if subject != "" {
		query.Set("subject", subject)
	}
	return send[DeletedLogin](ctx, c, http.MethodDelete, loginPath(tenant, toolServer), query, nil)
}
