package sessions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/tools"
)

// The values of toolSource. The empty one is the caller's safe tools and those that the
// request names; sourceExplicit is the latter alone. sourceCatalog is another name of the
// empty one.
const (
	sourceExplicit = "explicit"
	sourceCatalog  = "mcp_catalog"
)

// everyTool is the name of a plugin that stands for all.
const everyTool = "*"

// toolRef names tools: all of a plugin, or one operation of it. A plugin is an entry of
// tools in the configuration.
type toolRef struct {
	Plugin     string `json:"plugin"`
	PluginName string `json:"pluginName"`
	App        string `json:"app"`
	AppName    string `json:"appName"`
	System     string `json:"system"`

	Operation  string `json:"operation"`
	Connection string `json:"connection"`
	Instance   string `json:"instance"`
	// Title and Description are for people, and change nothing.
	Title       string `json:"title"`
	Description string `json:"description"`

	CredentialMode json.RawMessage `json:"credentialMode"`
	RunAs          json.RawMessage `json:"runAs"`
}

// owner returns the plugin by whichever name the client knows it.
func (r *toolRef) owner() string {
	return strings.TrimSpace(cmp.Or(r.Plugin, r.PluginName, r.App, r.AppName))
}

// check reports what is wrong with the form of a reference.
func (r *toolRef) check(path string) error {
	owner := r.owner()
	given := 0
	for _, name := range []string{r.Plugin, r.PluginName, r.App, r.AppName, r.System} {
		if strings.TrimSpace(name) != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return badRequest("%s.plugin or system is required", path)
	case given > 1:
		return badRequest("%s names more than one of plugin, app and system", path)
	case len(r.CredentialMode) > 0:
		return badRequest("%s.credentialMode is not for callers to set", path)
	case len(r.RunAs) > 0:
		return badRequest("%s.runAs is not for callers to set", path)
	case owner == everyTool && (r.Operation != "" || r.Connection != "" || r.Instance != ""):
		return badRequest("%s.plugin %q must stand alone", path, everyTool)
	case strings.Contains(r.Operation+r.Connection+r.Instance, everyTool):
		return badRequest("%s: %q is allowed as a plugin only", path, everyTool)
	case r.System != "":
		return r.checkSystem(path)
	case r.Connection != "" || r.Instance != "":
		return badRequest("%s: the tools of this server have one connection, which has no name", path)
	}
	return nil
}

// systemOperations are those of workflows.
var systemOperations = []string{
	"schedules.create", "schedules.list", "schedules.get", "schedules.pause", "schedules.resume", "runs.list", "runs.get",
}

// checkSystem checks a reference to tools of the server itself, of which there are none.
func (r *toolRef) checkSystem(path string) error {
	switch {
	case r.System != "workflow":
		return badRequest("%s.system %q is not supported: use workflow", path, clip.Text(r.System))
	case !slices.Contains(systemOperations, r.Operation):
		return badRequest("%s.operation %q is not supported: use one of %s", path, clip.Text(r.Operation), strings.Join(systemOperations, ", "))
	case r.Connection != "" || r.Instance != "" || r.Title != "" || r.Description != "":
		return badRequest("%s: a tool of the system has an operation alone", path)
	}
	return failedPrecondition("%s: workflow tools are not configured", path)
}

// toolRequest is what a turn says of its tools.
type toolRequest struct {
	source string
	// refs is nil when the request has none, and empty when it wants no tools.
	refs []toolRef
}

// readToolRequest reads the tools of a request, and checks their form.
func readToolRequest(raw json.RawMessage, source string) (*toolRequest, error) {
	t := &toolRequest{source: source}
	switch source {
	case "", sourceExplicit, sourceCatalog:
	default:
		return nil, badRequest("unsupported agent tool source %q", clip.Text(source))
	}
	if len(raw) == 0 {
		return t, nil
	}
	if string(raw) == "null" {
		return nil, badRequest("toolRefs must be an array")
	}
	t.refs = []toolRef{}
	if err := json.Unmarshal(raw, &t.refs); err != nil {
		return nil, badRequest("toolRefs must be an array of objects: %s", clip.Text(err.Error()))
	}
	for i := range t.refs {
		if err := t.refs[i].check(fmt.Sprintf("toolRefs[%d]", i)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// wantsSafe reports whether the turn gets the safe tools without naming them.
func (t *toolRequest) wantsSafe() bool {
	return t.source != sourceExplicit && (t.refs == nil || len(t.refs) > 0)
}

// toolChoice is what the tools of a turn are chosen from.
type toolChoice struct {
	set *registry.Set
	// visible are the ids of those that the caller and the agent may use.
	visible   []string
	threshold int
}

// choose returns the ids of the tools that a turn is given: those that it names, and the
// safe ones unless it wants none. text is the latest message of the user.
func (t *toolChoice) choose(asked *toolRequest, text string) ([]string, error) {
	chosen := make(map[string]bool)
	if asked.wantsSafe() {
		safe := t.safeTools()
		if len(safe) > t.threshold {
			safe = t.narrow(safe, text)
		}
		for _, id := range safe {
			chosen[id] = true
		}
	}
	for i := range asked.refs {
		ids, err := t.find(&asked.refs[i])
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			chosen[id] = true
		}
	}
	ids := make([]string, 0, len(chosen))
	for _, id := range t.visible {
		if chosen[id] {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// safeTools returns the ids of the tools that only read.
func (t *toolChoice) safeTools() []string {
	var ids []string
	for _, id := range t.visible {
		if tool, ok := t.set.Tools.Get(id); ok && effectOf(tool) == tools.Read {
			ids = append(ids, id)
		}
	}
	return ids
}

// effectOf returns the class of a tool's effect; that of one that panics is the worst.
func effectOf(tool tools.Tool) (effect tools.Effect) {
	defer panics.Handle(func(*panics.Error) { effect = tools.Once })
	d := tool.Descriptor()
	return d.EffectClass()
}

// narrow returns the tools of the plugins that a text names as whole words; all of them
// if it names none.
func (t *toolChoice) narrow(ids []string, text string) []string {
	words := make(map[string]bool)
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r <= ' ' || strings.ContainsRune(".,;:!?()[]{}\"'`", r) }) {
		words[word] = true
	}
	var named []string
	for _, id := range ids {
		if words[strings.ToLower(t.set.Tools.Owner(id))] {
			named = append(named, id)
		}
	}
	if named == nil {
		return ids
	}
	return named
}

// find returns the ids of the tools that a reference names.
func (t *toolChoice) find(ref *toolRef) ([]string, error) {
	owner := ref.owner()
	if owner == everyTool {
		return t.visible, nil
	}
	var ids, owners []string
	for _, id := range t.visible {
		of := t.set.Tools.Owner(id)
		owners = append(owners, of)
		if of == owner && (ref.Operation == "" || id == ref.Operation || strings.HasSuffix(id, "__"+ref.Operation)) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		return ids, nil
	}
	name := owner
	if ref.Operation != "" {
		name += "." + ref.Operation
	}
	missing := notFound("tool", name)
	if near, ok := nearest.Of(owner, owners); ok && near != owner {
		missing.message += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, missing
}
