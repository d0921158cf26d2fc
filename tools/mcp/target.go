package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// target is a server as reached with the settings alone or, if they use variables of tenants, for
// one tenant. It is immutable.
type target struct {
	// dir is a program's working directory. workspace is the same if it is a session's and the
	// program may know it.
	dir, workspace string
	// url and headers configure a server reached over HTTP.
	url     string
	headers map[string]string
	// transport returns the transport for requests.
	transport func() *http.Transport
	// secrets are the texts hidden in errors, longest first. own are the tenant's secrets among
	// them, which are also hidden in results.
	secrets, own []string
	// isForeign reports whether a tenant decides the host.
	isForeign bool
	// oauth gets tokens; nil if the server needs none.
	oauth tokenSource
}

// tokenSource gets the tokens of a server.
type tokenSource interface {
	auth.OAuthHandler
	// Secrets returns the current secrets, which must be hidden in the server's texts.
	Secrets() []string
}

// tokens returns the current tokens, which must be hidden.
func (t *target) tokens() []string {
	if t.oauth == nil {
		return nil
	}
	return t.oauth.Secrets()
}

// hidden returns the texts to hide in the server's results and messages.
func (t *target) hidden() []string { return slices.Concat(t.own, t.tokens()) }

// errBlocked is the error shown to a tenant for a rejected address.
var errBlocked = errors.New("it is not a public address, or not one that allow_private lists")

// hideSecrets returns an error with a text of moderate length without secrets.
func (t *target) hideSecrets(err error) error {
	text := err.Error()
	if _, blocked := errors.AsType[*netguard.BlockedError](err); blocked && t.isForeign {
		text = errBlocked.Error()
	}
	if missing, ok := errors.AsType[*oauth.LoginError](err); ok {
		text = missing.Error()
	}
	return &hiddenError{clip.Visible(redactTexts(redactTexts(text, t.tokens()), t.secrets), maxError), err}
}

func redactTexts(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redact.Placeholder)
	}
	return text
}

// hideResult removes the tenant's secrets from a result, because servers repeat requests and the
// model must not see secrets.
func (t *target) hideResult(r tools.Result) tools.Result {
	own := t.hidden()
	if len(own) == 0 {
		return r
	}
	r.Content = slices.Clone(r.Content)
	for i := range r.Content {
		p := &r.Content[i]
		p.Text = redactTexts(p.Text, own)
		if p.Blob != nil {
			blob := *p.Blob
			blob.Name = redactTexts(blob.Name, own)
			for _, secret := range own {
				blob.Data = bytes.ReplaceAll(blob.Data, []byte(secret), []byte(redact.Placeholder))
			}
			p.Blob = &blob
		}
	}
	r.Data = json.RawMessage(redactTexts(string(r.Data), own))
	return r
}

// root returns the workspace of a program in the protocol's form; nil if it is not sent to the
// server.
func (t *target) root() *mcp.Root {
	if t.workspace == "" {
		return nil
	}
	return &mcp.Root{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(t.workspace)}).String(), Name: "workspace"}
}

// state distinguishes the current values of one tenant from later ones, without revealing any.
func (t *target) state() string {
	h := sha256.New()
	write := func(text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }
	write(t.url)
	for _, name := range slices.Sorted(maps.Keys(t.headers)) {
		write(name)
		write(t.headers[name])
	}
	return string(h.Sum(nil))
}
