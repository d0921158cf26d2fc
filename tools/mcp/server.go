package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Kind returns the tool kind mcp.
func Kind() tools.Kind {
	return spec.NewKind("mcp", "The tools of a server that speaks the Model Context Protocol.", newTools)
}

// server is an entry of a configuration: the tools of one server, and the connection that they
// share.
type server struct {
	id          string
	config      config
	logger      *slog.Logger
	file        string
	fingerprint string
	filter      *filter
	secrets     []string
	link        *link
	// writeTime is how long a program may leave its input unread, and transport returns the
	// transport for requests.
	writeTime time.Duration
	transport func() *http.Transport

	// refersToTenant reports whether the settings use variables of tenants, and isForeign whether
	// these decide the host, which guard must then allow.
	refersToTenant, isForeign bool
	guard                     *netguard.Guard
	// authHTTP is the client for authorization servers; nil if absent.
	authHTTP *http.Client

	// places are the connections of programs in session workspaces, and tenants the connections
	// of tenants.
	places, tenants places
	// parked are the calls that wait for answers.
	parked parkedFlights

	mu sync.Mutex
	// catalog is nil while the tools are not known, and unknown says why.
	catalog *catalog
	unknown error
	members []tools.Member
	// loggedOut are the owners whose login is missing, has expired or lacks scopes, as of its
	// latest use.
	loggedOut map[string]bool
	found     diag.List
	changed   func(ctx context.Context)
}

var (
	_ tools.TenantBundle         = (*server)(nil)
	_ tools.TenantReferrer       = (*server)(nil)
	_ tools.ConnectedBundle      = (*server)(nil)
	_ interface{ Close() error } = (*server)(nil)
)

// newTools returns the configured tools. It reads the catalogue and contacts no server.
func newTools(s tools.Settings, c *config) (tools.Tool, error) {
	if err := c.Validate().Err(); err != nil {
		return nil, err
	}
	v, err := newServer(&s, c)
	if err != nil {
		return nil, err
	}
	switch {
	case s.PublicOnly:
		err = v.guardAddresses(s.AllowPrivate)
	case v.isForeign:
		err = v.guardAddresses(c.AllowPrivate)
	}
	if err != nil {
		return nil, err
	}
	if err := v.openAuthHTTP(); err != nil {
		return nil, err
	}
	v.file, v.fingerprint = c.catalogFile(&s), c.serverFingerprint(&s)
	known, err := readCatalog(v.file, v.fingerprint)
	if err != nil {
		v.unknown = err
		return v, nil
	}
	v.setCatalog(known)
	return v, nil
}

// newServer returns a server without a catalogue.
func newServer(s *tools.Settings, c *config) (*server, error) {
	v := &server{
		id: s.ID, config: c.clone(), logger: s.Logger, secrets: c.secretValues(),
		writeTime: defaultWriteTime, transport: plainTransport, unknown: errNoCatalog,
	}
	if v.logger == nil {
		v.logger = slog.New(slog.DiscardHandler)
	}
	var list diag.List
	v.filter, list = c.Filter.compileFilter()
	v.link = newLink(v.openSession)
	v.refersToTenant, v.isForeign = c.refersToTenant(), c.hasForeignHost()
	v.tenants.most = maxTenants
	return v, list.Err()
}

func (c *config) clone() config {
	own := *c
	own.Command = slices.Clone(c.Command)
	own.AllowPrivate = slices.Clone(c.AllowPrivate)
	own.Env, own.Headers = maps.Clone(c.Env), maps.Clone(c.Headers)
	if c.Auth != nil {
		auth := *c.Auth
		auth.Scopes = slices.Clone(auth.Scopes)
		own.Auth = &auth
	}
	return own
}

// Descriptor returns an empty descriptor: agents get the members.
func (s *server) Descriptor() tools.Descriptor { return tools.Descriptor{} }

// Call fails: agents get the members.
func (s *server) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{}, fmt.Errorf("%s is a server, not a tool", s.id)
}

// Prefix returns the prefix of the tool ids.
func (s *server) Prefix() string { return s.config.ToolPrefix(s.id) }

// Known reports whether there is a catalogue.
func (s *server) Known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalog != nil
}

// Connections returns the state of the connections.
func (s *server) Connections() tools.Connections {
	open, failures := s.link.state()
	c := tools.Connections{Open: s.places.countOpen() + s.tenants.countOpen(), Failures: failures}
	if open {
		c.Open++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Tools, c.LoggedOut = len(s.members), len(s.loggedOut)
	return c
}

// OnChange sets the function to call when the server has announced changed tools.
func (s *server) OnChange(changed func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = changed
}

// Members returns the tools of the catalogue. It reports unusable tools: an invalid schema as a
// warning, since the server is not the configuration's responsibility, and two names for one id as
// an error.
func (s *server) Members() ([]tools.Member, diag.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog != nil {
		return s.members, s.found
	}
	d := diag.New(diag.NoCatalog, "", "the tools of %q are not known: the catalogue %s cannot be used: %v", s.id, s.file, s.unknown)
	if errors.Is(s.unknown, errNoCatalog) {
		d = diag.New(diag.NoCatalog, "", "the tools of %q are not known: there is no catalogue %s", s.id, s.file)
	}
	if s.refersToTenant {
		return nil, diag.List{d.WithHint("run runtime validate --online --tenant-variable NAME=VALUE with values of a tenant, which asks the server and writes the catalogue")}
	}
	return nil, diag.List{d.WithHint("run runtime validate --online, which asks the server and writes the catalogue")}
}

// setCatalog sets the current catalogue and reports whether its tools differ from the previous
// ones.
func (s *server) setCatalog(c *catalog) (differs bool) {
	s.mu.Lock()
	known := s.catalog
	s.mu.Unlock()
	if known != nil && sameTools(known, c) {
		return false
	}
	members, found := s.expandCatalog(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog, s.members, s.found, s.unknown = c, members, found, nil
	return true
}

// sameTools reports whether two catalogues list the same tools.
func sameTools(a, b *catalog) bool {
	return slices.Equal(a.Features, b.Features) && slices.EqualFunc(a.Tools, b.Tools, func(a, b toolInfo) bool {
		return a.Name == b.Name && a.Description == b.Description && a.Annotations == b.Annotations && a.Unusable == b.Unusable && a.RequiresTask == b.RequiresTask &&
			string(a.InputSchema) == string(b.InputSchema) && string(a.OutputSchema) == string(b.OutputSchema)
	})
}

// expandCatalog makes the tools of a catalogue.
func (s *server) expandCatalog(c *catalog) ([]tools.Member, diag.List) {
	var found diag.List
	warn := func(code diag.Code, format string, args ...any) {
		d := diag.New(code, "", format, args...).AtKey()
		d.Severity = diag.Warning
		found = append(found, d)
	}
	members := make([]tools.Member, 0, len(c.Tools))
	names := make(map[string]string, len(c.Tools))
	for i := range c.Tools {
		info := &c.Tools[i]
		if !s.filter.allowsTool(info.Name) {
			continue
		}
		if info.Name == "" || len(info.Name) > maxName {
			warn(diag.InvalidID, "a tool of %q is left out: its name has %d bytes", s.id, len(info.Name))
			continue
		}
		if info.Unusable != "" {
			warn(diag.NoEffect, "the tool %q of %q is left out: %s", cleanText(info.Name, maxName), s.id, info.Unusable)
			continue
		}
		id := toolID(s.Prefix(), info.Name)
		if other, taken := names[id]; taken {
			if other == info.Name {
				warn(diag.DuplicateID, "%q lists the tool %q twice; the first one counts", s.id, cleanText(info.Name, maxName))
				continue
			}
			found = append(found, diag.New(diag.ToolIDConflict, "", "the tools %q and %q of %q get one id, %s",
				cleanText(other, maxName), cleanText(info.Name, maxName), s.id, id).WithHint("leave one of them out with filter").AtKey())
			continue
		}
		made, err := s.newMember(id, info)
		if err != nil {
			warn(diag.InvalidSchema, "the tool %q of %q is left out: %v", cleanText(info.Name, maxName), s.id, err)
			continue
		}
		names[id] = info.Name
		members = append(members, tools.Member{ID: id, Tool: made})
	}
	for _, feature := range c.Features {
		id := toolID(s.Prefix(), feature)
		switch {
		case !s.config.allowsFeature(feature):
		case names[id] != "":
			found = append(found, diag.New(diag.ToolIDConflict, "", "the tool %q of %q gets the id of its %s, %s",
				cleanText(names[id], maxName), s.id, feature, id).WithHint("leave the tool out with filter, or the feature out of features").AtKey())
		default:
			members = append(members, tools.Member{ID: id, Tool: s.newFeatureTool(feature)})
		}
	}
	slices.SortFunc(members, func(a, b tools.Member) int { return strings.Compare(a.ID, b.ID) })
	return members, found
}

// newMember makes a tool. The error names an invalid schema.
func (s *server) newMember(id string, info *toolInfo) (*tool, error) {
	t := &tool{server: s, name: info.Name, requiresTask: info.RequiresTask, descriptor: tools.Descriptor{
		Description: info.Description,
		Parameters:  info.InputSchema,
		Output:      info.OutputSchema,
		Effect:      info.Annotations.toolEffect(s.config.Effect),
		Timeout:     s.config.callTimeout(),
		Serial:      s.config.Serial,
	}}
	if info.OutputSchema != nil {
		compiled, err := schema.Compile(info.OutputSchema)
		if err != nil {
			return nil, fmt.Errorf("its output schema is not a valid JSON Schema: %w", err)
		}
		t.output = compiled
	}
	if _, list := toolset.Compile(id, t, toolset.Source{Kind: toolset.SourceGlobal, Name: s.id}); list.HasErrors() {
		return nil, errors.New(list[0].Message)
	}
	return t, nil
}

// Refresh requests the tools from the server and keeps the response, also in the catalogue file.
func (s *server) Refresh(ctx context.Context) error {
	if s.refersToTenant || s.NeedsLogin() {
		return s.RefreshFor(ctx, nil)
	}
	session, fresh, err := s.link.openSession(ctx)
	if err != nil {
		return err
	}
	if fresh { // it has just listed its tools
		return session.listed
	}
	_, err = s.listTools(ctx, session)
	return err
}

// listTools requests the tools within the connect timeout and keeps them. It reports whether they
// differ from the previous ones.
func (s *server) listTools(ctx context.Context, session *session) (differs bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.connectTimeout())
	defer cancel()
	c, err := session.listCatalog(ctx, s.fingerprint)
	if err != nil && errors.Is(err, context.Canceled) && session.isEnding() {
		return false, session.cause
	}
	if err != nil {
		return false, &Error{Server: s.id, Err: session.target.hideSecrets(err)}
	}
	if err := s.checkPins(session, c); err != nil {
		return false, &Error{Server: s.id, Err: session.target.hideSecrets(err)}
	}
	s.warnOfChanges(c)
	if s.file == "" || s.isCurrent(c) { // nothing to keep
		return s.setCatalog(c), nil
	}
	if err := writeCatalog(s.file, c); err != nil {
		s.logger.Warn("writing the catalogue failed", "file", s.file, "error", err)
	}
	return s.setCatalog(c), nil
}

// isCurrent reports whether the file already holds a catalogue.
func (s *server) isCurrent(now *catalog) bool {
	s.mu.Lock()
	known := s.catalog
	s.mu.Unlock()
	if known == nil || known.Server != now.Server || !sameTools(known, now) {
		return false
	}
	_, err := os.Stat(s.file)
	return err == nil
}

// warnOfChanges logs the tools that differ from the known ones.
func (s *server) warnOfChanges(now *catalog) {
	s.mu.Lock()
	known := s.catalog
	s.mu.Unlock()
	if known == nil || s.config.changePolicy() == changesAccepted || sameTools(known, now) {
		return
	}
	s.logger.Warn("the server has changed its tools", "changes", listChanges(compareTools(known, now)))
}

// relistTools lists the tools again after the server announced a change, and notifies the observer.
func (s *server) relistTools(ctx context.Context, session *session) {
	differs, err := s.listTools(ctx, session)
	if err != nil {
		if ctx.Err() == nil {
			s.logger.Warn("listing the changed tools failed", "error", err)
		}
		return
	}
	if differs {
		s.notifyChange(ctx)
	}
}

// notifyChange calls the function that OnChange set.
func (s *server) notifyChange(ctx context.Context) {
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	if changed != nil {
		changed(ctx)
	}
}

// Close ends the connection and the program, and waits for both to finish. Running calls fail.
func (s *server) Close() error {
	s.parked.close()
	s.link.close()
	s.places.close()
	s.tenants.close()
	if s.authHTTP != nil {
		s.authHTTP.CloseIdleConnections()
	}
	return nil
}
