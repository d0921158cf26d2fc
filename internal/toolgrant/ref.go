// Package toolgrant decides which tools a turn gets when it requests them through the protocol of
// Gestalt's sessions: the safe tools and those that it names, among the tools that its caller and
// its agent may use.
package toolgrant

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// Values of toolSource. The empty one means the caller's safe tools and those that the request
// names; SourceExplicit means only the latter, SourceCatalog is the same as the empty one, and
// SourceSearch means the same tools, found by the model through a search.
const (
	SourceExplicit = "explicit"
	SourceCatalog  = "mcp_catalog"
	SourceSearch   = "native_search"
)

// everyTool is the plugin name that selects all tools.
const everyTool = "*"

// Ref names tools: all of a plugin, or one operation of it. A plugin is an entry of
// tools in the configuration.
type Ref struct {
	Plugin     string `json:"plugin"`
	PluginName string `json:"pluginName"`
	App        string `json:"app"`
	AppName    string `json:"appName"`
	System     string `json:"system"`

	Operation  string `json:"operation"`
	Connection string `json:"connection"`
	Instance   string `json:"instance"`
	// Title and Description are for people and have no effect.
	Title       string `json:"title"`
	Description string `json:"description"`

	CredentialMode json.RawMessage `json:"credentialMode"`
	RunAs          json.RawMessage `json:"runAs"`
}

// owner returns the plugin, by any of the names that clients use.
func (r *Ref) owner() string {
	return cmp.Or(r.Plugin, r.PluginName, r.App, r.AppName)
}

// trimSpaces removes the spaces around names.
func (r *Ref) trimSpaces() {
	for _, name := range []*string{&r.Plugin, &r.PluginName, &r.App, &r.AppName, &r.System, &r.Operation, &r.Connection, &r.Instance} {
		*name = strings.TrimSpace(*name)
	}
}

// check validates the form of a reference.
func (r *Ref) check(path string) error {
	owner := r.owner()
	given := 0
	for _, name := range []string{r.Plugin, r.PluginName, r.App, r.AppName, r.System} {
		if name != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return invalid("%s.plugin or system is required", path)
	case given > 1:
		return invalid("%s names more than one of plugin, app and system", path)
	case len(r.CredentialMode) > 0:
		return invalid("%s.credentialMode is not for callers to set", path)
	case len(r.RunAs) > 0:
		return invalid("%s.runAs is not for callers to set", path)
	case owner == everyTool && (r.Operation != "" || r.Connection != "" || r.Instance != ""):
		return invalid("%s.plugin %q must stand alone", path, everyTool)
	case strings.Contains(r.Operation+r.Connection+r.Instance, everyTool):
		return invalid("%s: %q is allowed as a plugin only", path, everyTool)
	case r.System != "":
		return r.checkSystem(path)
	case r.Connection != "" || r.Instance != "":
		return invalid("%s: the tools of this server have one connection, which has no name", path)
	}
	return nil
}

// systemOperations are the operations of workflows.
var systemOperations = []string{
	"schedules.create", "schedules.list", "schedules.get", "schedules.pause", "schedules.resume", "runs.list", "runs.get",
}

// checkSystem checks a reference to tools of the server itself, of which there are none.
func (r *Ref) checkSystem(path string) error {
	switch {
	case r.System != "workflow":
		return invalid("%s.system %q is not supported: use workflow", path, clip.Text(r.System))
	case !slices.Contains(systemOperations, r.Operation):
		return invalid("%s.operation %q is not supported: use one of %s", path, clip.Text(r.Operation), strings.Join(systemOperations, ", "))
	case r.Connection != "" || r.Instance != "" || r.Title != "" || r.Description != "":
		return invalid("%s: a tool of the system has an operation alone", path)
	}
	return &RefusedError{Kind: Unsupported, Message: path + ": workflow tools are not configured"}
}

// Request is a turn's tool selection.
type Request struct {
	Source string
	// Refs is nil when the request has none, and empty when it wants no tools.
	Refs []Ref
}

// Parse reads the toolRefs and the toolSource of a request, and checks their form. The
// error is a *RefusedError.
func Parse(refs json.RawMessage, source string) (*Request, error) {
	source = strings.TrimSpace(source)
	t := &Request{Source: source}
	switch source {
	case "", SourceExplicit, SourceCatalog, SourceSearch:
	default:
		return nil, invalid("unsupported agent tool source %q", clip.Text(source))
	}
	if len(refs) == 0 {
		return t, nil
	}
	if string(refs) == "null" {
		return nil, invalid("toolRefs must be an array")
	}
	t.Refs = []Ref{}
	if err := json.Unmarshal(refs, &t.Refs); err != nil {
		path, problem := rawjson.DescribeError(err, reflect.TypeFor[Ref]())
		return nil, invalid("%s: the value %s", strings.TrimSuffix("toolRefs."+path, "."), clip.Text(problem))
	}
	for i := range t.Refs {
		t.Refs[i].trimSpaces()
		if err := t.Refs[i].check(fmt.Sprintf("toolRefs[%d]", i)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Empty reports whether the request says nothing about tools.
func (t *Request) Empty() bool { return t.Source == "" && t.Refs == nil }

// wantsSafe reports whether the turn gets the safe tools without naming them.
func (t *Request) wantsSafe() bool {
	return t.Source != SourceExplicit && (t.Refs == nil || len(t.Refs) > 0)
}
