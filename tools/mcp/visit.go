package mcp

import (
	"context"
	"net/http"
	"regexp"

	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Visit describes a server that somebody outside names for a turn, which nobody
// vouches for. Nothing is kept of it.
type Visit struct {
	// Name is the prefix of the tool ids, before an underscore.
	Name string
	// URL is where the server is, over streamable HTTP.
	URL string
	// Headers go with every request. The protocol's own cannot be among them.
	Headers map[string]string
	// Tools are the names of those that are wanted, as the server calls them;
	// empty is all.
	Tools []string
	// AllowPrivate are the hosts on a private network that may be reached, as
	// netguard.New takes them. All others may not.
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

// buildServer returns the server, without a catalogue.
func (v *Visit) buildServer() (*server, error) {
	prefix := v.Name + "_"
	// Nothing that it says refers to variables.
	c := &Config{Features: []string{}, URL: string(spec.QuoteTemplate(v.URL)), Headers: make(map[string]string, len(v.Headers)), Prefix: &prefix}
	for name, value := range v.Headers {
		c.Headers[name] = string(spec.QuoteTemplate(value))
	}
	if len(v.Tools) > 0 {
		c.Filter = &ToolFilter{Allow: make([]string, len(v.Tools))}
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

// special are the characters that mean something in a glob.
var special = regexp.MustCompile(`[\\*?\[\]{},!^-]`)
