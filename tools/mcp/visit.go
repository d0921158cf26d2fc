package mcp

import (
	"context"
	"net/http"
	"regexp"

	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Visit describes an untrusted server that an external party names for a turn. Nothing of it is
// kept.
type Visit struct {
	// Name is the prefix of the tool ids, followed by an underscore.
	Name string
	// URL is the address of the server, which uses streamable HTTP.
	URL string
	// Headers are sent with every request. They must not include the protocol's own.
	Headers map[string]string
	// Tools are the server's names of the requested tools; empty means all.
	Tools []string
	// AllowPrivate are the hosts on a private network that may be reached, in the form of
	// netguard.New. All others are blocked.
	AllowPrivate []string
}

// Members connects to the server, within ctx, and returns its tools, which work until release is
// called. On error, release need not be called.
func (v *Visit) Members(ctx context.Context) (members []tools.Member, release func(), err error) {
	s, err := v.buildServer()
	if err != nil {
		return nil, nil, err
	}
	if err := s.Refresh(ctx); err != nil {
		s.link.close()
		return nil, nil, err
	}
	members, _ = s.Members()
	return members, s.link.close, nil
}

// buildServer returns the server, without a catalog.
func (v *Visit) buildServer() (*server, error) {
	// Its texts contain no references to variables.
	c := &config{Features: []string{}, URL: string(spec.QuoteTemplate(v.URL)), Headers: make(map[string]string, len(v.Headers)), Prefix: new(v.Name + "_")}
	for name, value := range v.Headers {
		c.Headers[name] = string(spec.QuoteTemplate(value))
	}
	if len(v.Tools) > 0 {
		c.Filter = &toolFilter{Allow: make([]string, len(v.Tools))}
		for i, name := range v.Tools {
			c.Filter.Allow[i] = special.ReplaceAllString(name, `\$0`)
		}
	}
	if err := c.checkAddress().Err(); err != nil {
		return nil, &Error{Server: v.Name, Err: err}
	}
	guard, err := netguard.New(v.AllowPrivate...)
	if err != nil {
		return nil, &Error{Server: v.Name, Err: err}
	}
	s, err := newServer(&tools.Settings{ID: v.Name}, c)
	if err != nil {
		return nil, &Error{Server: v.Name, Err: err}
	}
	s.transport = func() *http.Transport { return netguard.Transport(guard) }
	return s, nil
}

// special matches the characters with a meaning in globs.
var special = regexp.MustCompile(`[\\*?\[\]{},!^-]`)
