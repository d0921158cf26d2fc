package config

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

const (
	// dataDir is the runtime's directory beside the first configuration file, storeFile the
	// SQLite file in it, and workspacesDir the directory of sessions' workspaces.
	dataDir       = ".runtime"
	storeFile     = "runtime.db"
	workspacesDir = "workspaces"
	// retrySection is the agent section that configures retries of model calls.
	retrySection = "retry"
)

// decodeSettings decodes the process-wide records.
func (l *loader) decodeSettings() {
	l.file.Store = decodeSetting(&l.Decoder, "store", l.checkStore)
	l.file.Revisions = decodeSetting(&l.Decoder, "revisions", (*settings.Revisions).Validate)
	if _, value := l.Tree.Root.FindField(keys.Tenants); value != nil && value.Kind == yamltree.Mapping {
		l.file.TenantRules = new(decodeSetting(&l.Decoder, keys.Tenants, (*spec.Tenants).Validate))
	}
	l.file.Turns = decodeSetting(&l.Decoder, "turns", (*settings.Turns).Validate)
	l.file.Workspaces = decodeSetting(&l.Decoder, "workspaces", (*settings.Workspaces).Validate)
	l.file.Server = decodeSetting(&l.Decoder, "server", l.checkServer)
	l.kinds.switchOffSurfaces(&l.file.Server)
	l.checkDescriptions()
	l.noteNoRetry()
	l.storePaths()
}

func decodeSetting[T any](d *decode.Decoder, name string, validate func(*T) diag.List) (record T) {
	key, value := d.Tree.Root.FindField(name)
	if value == nil || value.Kind == yamltree.Null {
		return record
	}
	p := tree.TopField(name, key)
	record, start := decode.DecodeRecord[T](d, "", value, p)
	d.AddValidationFindings(start, p, value, validate(&record))
	return record
}

// checkStore checks the store's own settings. The DSN cannot be checked if the driver is
// unreadable.
func (l *loader) checkStore(s *settings.Store) diag.List {
	if l.isDriverUnknown(s) {
		return nil
	}
	list := slices.DeleteFunc(s.Validate(), func(one diag.Diagnostic) bool { return one.Path == "driver" })
	_, store := l.Tree.Root.FindField("store")
	if _, dsn := store.FindField("dsn"); s.DSN == "" && s.Kind() == settings.StoreSQLite && dsn != nil && dsn.Kind != yamltree.Null && !l.Tree.Meant["store.dsn"] {
		list = append(list, diag.New(diag.InvalidValue, "dsn", "dsn is empty; it must be the path of a file").
			WithHint("leave dsn out for runtime.db in data_dir"))
	}
	return append(l.kinds.checkDriver(s), list...)
}

// isDriverUnknown reports whether a driver is given that does not exist.
func (l *loader) isDriverUnknown(s *settings.Store) bool {
	_, store := l.Tree.Root.FindField("store")
	_, driver := store.FindField("driver")
	return s.Driver == "" && driver != nil && driver.Kind != yamltree.Null || l.Tree.Meant["store.driver"]
}

// checkServer checks the server and that the agents it names exist.
func (l *loader) checkServer(s *settings.Server) diag.List {
	l.kinds.switchOffSurfaces(s)
	list := append(s.Validate(), s.UnknownScopes(l.knownScopes())...)
	list = append(list, l.file.checkAgent("a2a.default_agent", s.A2A.DefaultAgent)...)
	list = append(list, l.file.checkProviders(&s.Sessions)...)
	for i := range s.Keys {
		list = append(list, l.file.checkPatterns(diag.Key(diag.Index("keys", i), "agents"), s.Keys[i].Agents)...)
	}
	if s.OAuth == nil {
		return list
	}
	for i := range s.OAuth.Clients {
		list = append(list, l.file.checkPatterns(diag.Key(diag.Index("oauth.clients", i), "agents"), s.OAuth.Clients[i].Agents)...)
	}
	return list
}

// checkDescriptions warns of agents without a description in the cards and lists that the
// server publishes.
func (l *loader) checkDescriptions() {
	_, server := l.Tree.Root.FindField("server")
	s := &l.file.Server
	answers := s.Listen != settings.ListenNone || s.A2A.GRPCListen != ""
	if server == nil || server.Kind != yamltree.Mapping || !answers || !s.A2A.On() && !s.AgentRuns.On() {
		return
	}
	var found diag.List
	for _, agent := range l.file.Agents {
		if agent.UsesTools() || s.AgentRuns.On() { // A2A has no cards for others
			found = append(found, agent.CheckDescription(diag.Key("agents", agent.ID))...)
		}
	}
	for _, one := range found.LimitAlike(diag.NoDescription) {
		l.AddAt(one, server)
	}
}

// noteNoRetry adds a single note if no agent retries model calls and at least one uses a vendor.
func (l *loader) noteNoRetry() {
	_, agents := l.Tree.Root.FindField("agents")
	if !slices.ContainsFunc(l.file.Providers, hasVendor) || agents == nil || l.file.Defaults != nil && l.file.Defaults.Sections[retrySection] != nil {
		return
	}
	asking := false
	for _, agent := range l.file.Agents {
		if agent.Sections[retrySection] != nil {
			return
		}
		asking = asking || agent.Local()
	}
	if asking {
		l.AddAt(diag.New(diag.NoRetry, "agents", "no agent repeats model calls that fail, so one 429 fails a turn").
			WithHint("add sections: {retry: {}} to defaults"), agents)
	}
}

// hasVendor reports whether a provider sends requests to a vendor.
func hasVendor(provider Entry[model.ProviderKind]) bool {
	t := reflect.TypeOf(provider.Config)
	return t != nil && t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && record.Of(t.Elem()).ByName["base_url"] != nil
}

// knownScopes returns the scopes required by the server's routes.
func (l *loader) knownScopes() []string {
	if len(l.kinds.Scopes) == 0 {
		return settings.Scopes
	}
	return l.kinds.Scopes
}

// storePaths sets the store's default driver and paths, and hides database connection strings. File
// paths are not secrets: users need them to understand errors about the file.
func (l *loader) storePaths() {
	s := &l.file.Store
	unknown := l.isDriverUnknown(s) // then the DSN may contain a password
	s.Driver = s.Kind()
	if s.DataDir == "" && len(l.Tree.Documents) > 0 {
		s.DataDir = filepath.Join(l.Tree.Documents[0].Dir, dataDir)
	}
	if w := &l.file.Workspaces; w.Dir == "" && len(l.Tree.Documents) > 0 {
		w.Dir = filepath.Join(l.Tree.Documents[0].Dir, dataDir, workspacesDir)
	}
	file := s.Driver == settings.StoreSQLite && !unknown && !strings.Contains(s.DSN, "://") && !s.NamesDatabase()
	_, store := l.Tree.Root.FindField("store")
	_, dsn := store.FindField("dsn")
	switch {
	case s.DSN == "" && file:
		s.DSN = filepath.Join(s.DataDir, storeFile)
	case s.DSN == "":
	case file:
		s.DSN = expand.RelativeTo(l.Tree.Documents[dsn.Document].Dir, s.DSN)
	default:
		l.Tree.Redactor.AddSecret(s.DSN)
		for _, password := range secret.PasswordsOf(s.DSN) {
			l.Tree.Redactor.AddSecret(password)
		}
		l.AddSecret(dsn)
		if at := secret.KeyPassword.FindStringSubmatch(dsn.Text); at != nil && secret.LiteralOf(at[1]) != "" {
			l.ReportPlainSecret(dsn, tree.TopField("store", nil).Field("dsn", nil))
		}
	}
}

// decodeSchedules decodes the schedules, which refer to agents.
func (l *loader) decodeSchedules() {
	l.eachEntry("schedules", func(id string, n *yamltree.Node, p *tree.Place, _ bool) {
		s, start := decode.DecodeRecord[settings.Schedule](&l.Decoder, id, n, p)
		found := append(s.Validate(), workflow.CheckTimes(s.Cron, s.TimeZone)...)
		found = append(found, l.file.checkAgent("agent", s.Agent)...)
		l.AddValidationFindings(start, p, n, found)
		l.file.Schedules = append(l.file.Schedules, s)
	})
}

// checkAgent checks a reference to an agent. For agents of a remote source, only the source is
// known.
func (f *File) checkAgent(path, id string) diag.List {
	if id == "" || f.Partial {
		return nil
	}
	ids := f.agentIDs()
	source, name, remote := strings.Cut(id, "/")
	for i := range f.RemoteAgents {
		if remote && f.RemoteAgents[i].Name == source {
			return nil
		}
	}
	if slices.Contains(ids, id) || remote && source == spec.LocalSource && slices.Contains(ids, name) {
		return nil
	}
	return diag.List{diag.New(diag.AgentNotFound, path, "agent %q is not defined", clip.Text(id)).WithNearest(id, ids)}
}

// checkProviders checks that the agents and models named by session providers exist.
func (f *File) checkProviders(s *settings.ServerSessions) diag.List {
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		provider, path := s.Providers[name], diag.Key("sessions.providers", name)
		list = append(list, f.checkAgent(diag.Join(path, "agent"), provider.Agent)...)
		for _, alias := range slices.Sorted(maps.Keys(provider.Aliases)) {
			list = append(list, f.checkModel(diag.Key(diag.Join(path, "aliases"), alias), provider.Aliases[alias])...)
		}
		if _, alias := provider.Aliases[provider.DefaultModel]; !alias {
			list = append(list, f.checkModel(diag.Join(path, "default_model"), provider.DefaultModel)...)
		}
	}
	return list
}

// checkModel checks that the model or pool named by a setting exists.
func (f *File) checkModel(path, id string) diag.List {
	if id == "" || f.Partial {
		return nil
	}
	var ids []string
	for i := range f.Models {
		ids = append(ids, f.Models[i].ID)
	}
	for i := range f.Pools {
		ids = append(ids, f.Pools[i].ID)
	}
	if slices.Contains(ids, id) {
		return nil
	}
	return diag.List{diag.New(diag.ModelNotFound, path, "model %q is not defined", clip.Text(id)).WithNearest(id, ids)}
}

// checkPatterns warns of agents named by a credential that do not exist. Files without agents leave
// them to other files, and the agents of peers are unknown.
func (f *File) checkPatterns(path string, globs spec.Names) diag.List {
	ids := f.agentIDs()
	if f.Partial || len(ids) == 0 || len(f.RemoteAgents) > 0 {
		return nil
	}
	var list diag.List
	for i, glob := range globs {
		p, err := pattern.Compile(glob)
		if err != nil || slices.ContainsFunc(ids, p.Match) {
			continue
		}
		list = append(list, diag.New(diag.UnmatchedAgent, diag.Index(path, i), "%q matches no agent", clip.Text(glob)).WithNearest(glob, ids))
	}
	return list
}

func (f *File) agentIDs() []string {
	ids := make([]string, len(f.Agents))
	for i := range f.Agents {
		ids[i] = f.Agents[i].ID
	}
	return ids
}
