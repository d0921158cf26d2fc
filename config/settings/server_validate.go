package settings

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/spec"
)

// Validate checks the record by itself. Secrets are not repeated in messages.
func (s *Server) Validate() diag.List {
	var list diag.List
	if s.Address() != ListenNone {
		list = append(list, s.checkListen("listen", s.Address())...)
	}
	if s.A2A.GRPCListen != "" {
		list = append(list, check.Within("a2a", s.checkListen("grpc_listen", s.A2A.GRPCListen))...)
	}
	if s.PublicURL != "" {
		list = append(list, checkPublicURL(s.PublicURL)...)
	} else if s.Address() != ListenNone && !list.HasErrors() && !loopbackOnly(s.Address()) {
		list = append(list, diag.New(diag.MissingField, "public_url", "without public_url, agent cards name the listen address, which others may not reach").
			WithSeverity(diag.Warning).WithHint("write public_url: https://agents.example.com"))
	}
	if s.AllowUnauthenticated && s.Authenticated() {
		list = append(list, diag.New(diag.InvalidValue, "allow_unauthenticated", "allow_unauthenticated is set, but there are keys"))
	}
	list = append(list, s.checkKeys()...)
	list = append(list, s.checkOAuth()...)
	if s.JWT != nil {
		list = append(list, check.Within("jwt", s.JWT.Validate())...)
	}
	list = append(list, s.checkOrigins()...)
	if s.EncryptionKey != "" && s.EncryptionBytes() == nil {
		list = append(list, diag.New(diag.InvalidValue, "encryption_key", "encryption_key is not the base64 of %d bytes", encryptionKeyBytes).
			WithHint("openssl rand -base64 %d", encryptionKeyBytes))
	}
	list = append(list, check.Within("limits", s.Limits.Validate())...)
	list = append(list, check.Within("rate", s.Rate.Validate())...)
	list = append(list, check.Within("a2a", s.A2A.Validate())...)
	list = append(list, s.checkMCP()...)
	list = append(list, check.Within("agents", s.Agents.Validate())...)
	list = append(list, check.Within("agent_runs", s.AgentRuns.Validate())...)
	list = append(list, check.Within("sessions", s.Sessions.Validate())...)
	return append(list, s.warnNoEffect()...)
}

// checkListen checks an address and who can reach it.
func (s *Server) checkListen(path, address string) diag.List {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return diag.List{diag.New(diag.InvalidValue, path, "%s is %q; it must be host:port", path, clip.Text(address)).
			WithHint("such as %s, or :8080 for every address of the machine", DefaultListen)}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return diag.List{diag.New(diag.InvalidValue, path, "%s has the port %q; it must be a number from 0 to 65535", path, clip.Text(port))}
	}
	if strings.ContainsAny(host, " /") {
		return diag.List{diag.New(diag.InvalidValue, path, "%s has the host %q; it must be a name or an IP address", path, clip.Text(host))}
	}
	if !s.Authenticated() && !s.AllowUnauthenticated && !loopbackOnly(address) {
		return diag.List{diag.New(diag.InvalidValue, path, "%s is reachable from other machines without a key: anybody could use every agent", path).
			WithHint("make a key with \"runtime keys new\", listen on 127.0.0.1, or write allow_unauthenticated: true")}
	}
	return nil
}

// loopbackOnly reports whether an address is reachable only from the machine itself.
func loopbackOnly(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	return hostlist.IsLoopback(host)
}

// checkPublicURL checks the public URL of the server.
func checkPublicURL(raw string) diag.List {
	list := check.PeerURL("public_url", raw)
	for i := range list {
		list[i].Code, list[i].Hint = diag.InvalidValue, "such as https://agents.example.com"
	}
	return list
}

// checkKeys checks the keys, individually and together.
func (s *Server) checkKeys() diag.List {
	var list diag.List
	for i := range s.Keys {
		k := &s.Keys[i]
		path := diag.Index("keys", i)
		list = append(list, check.Within(path, k.Validate())...)
		same := func(of func(*ServerKey) string) bool {
			return of(k) != "" && slices.ContainsFunc(s.Keys[:i], func(other ServerKey) bool { return of(&other) == of(k) })
		}
		switch {
		case same(func(k *ServerKey) string { return k.ID }):
			list = append(list, diag.New(diag.DuplicateID, diag.Key(path, "id"), "there is a key %q already", clip.Text(k.ID)))
		case same(func(k *ServerKey) string { return k.Hash }):
			list = append(list, diag.New(diag.InvalidValue, diag.Key(path, "hash"), "another key has the same hash; only the first would count"))
		case same(func(k *ServerKey) string { return k.Key }):
			list = append(list, diag.New(diag.InvalidValue, diag.Key(path, "key"), "another key is the same; only the first would count"))
		}
	}
	return list
}

// checkOAuth checks the programs that get tokens, including conflicts with the keys.
func (s *Server) checkOAuth() diag.List {
	if s.OAuth == nil {
		return nil
	}
	list := check.Within("oauth", check.PositiveSpan("token_ttl", s.OAuth.TokenTTL))
	if s.EncryptionBytes() == nil {
		list = append(list, diag.New(diag.MissingField, "encryption_key", "encryption_key is required: access tokens are signed with it").
			WithHint("openssl rand -base64 %d", encryptionKeyBytes))
	}
	for i := range s.OAuth.Clients {
		c := &s.OAuth.Clients[i]
		path := diag.Index("oauth.clients", i)
		list = append(list, check.Within(path, c.Validate())...)
		if slices.ContainsFunc(s.OAuth.Clients[:i], func(o OAuthClient) bool { return o.ID == c.ID }) ||
			slices.ContainsFunc(s.Keys, func(k ServerKey) bool { return k.ID == c.ID }) {
			list = append(list, diag.New(diag.DuplicateID, diag.Key(path, "id"), "there is a client or a key %q already", clip.Text(c.ID)))
		}
	}
	return list
}

// checkOrigins checks the sites whose pages may use the server.
func (s *Server) checkOrigins() diag.List {
	var list diag.List
	for i, origin := range s.CORSOrigins {
		path := diag.Index("cors_origins", i)
		if origin == "*" {
			if !s.Authenticated() {
				list = append(list, diag.New(diag.InvalidValue, path, "every site is allowed and no key is required: any page could use every agent"))
			}
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			list = append(list, diag.New(diag.InvalidValue, path, "%q is not a valid origin", clip.Text(origin)).
				WithHint("a scheme, a host and a port, such as https://console.example.com"))
		}
	}
	return list
}

// checkMCP reports duplicate prompts and resources.
func (s *Server) checkMCP() (list diag.List) {
	checkUnique := func(seen map[string]bool, at, id string) {
		if seen[id] {
			list = append(list, diag.New(diag.DuplicateID, at, "%q is listed twice", clip.Text(id)))
		}
		seen[id] = true
	}
	names, addresses := map[string]bool{}, map[string]bool{}
	for i := range s.MCPPrompts {
		checkUnique(names, diag.Index("mcp_prompts", i)+".name", s.MCPPrompts[i].Name)
	}
	for i := range s.MCPResources {
		checkUnique(addresses, diag.Index("mcp_resources", i)+".uri", s.MCPResources[i].URI)
	}
	return list
}

// UnknownScopes warns about scopes of keys and clients that no route of the server needs. Such a
// scope is harmless: it may be meant for another server.
func (s *Server) UnknownScopes(known []string) diag.List {
	var list diag.List
	warn := func(path string, scopes spec.Names) {
		for i, scope := range scopes {
			if validScope(scope) && !slices.Contains(known, scope) {
				list = append(list, diag.New(diag.UnknownScope, diag.Index(diag.Key(path, "scopes"), i), "no route needs the scope %q", clip.Text(scope)).WithNearest(scope, known))
			}
		}
	}
	for i := range s.Keys {
		warn(diag.Index("keys", i), s.Keys[i].Scopes)
	}
	if s.OAuth != nil {
		for i := range s.OAuth.Clients {
			warn(diag.Index("oauth.clients", i), s.OAuth.Clients[i].Scopes)
		}
	}
	return list
}
