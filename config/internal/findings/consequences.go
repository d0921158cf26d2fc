package findings

import (
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// consequences are findings of building that may exist only because loading could not
// read something: definitions that look unused, and tools and entries that look missing.
type consequences struct {
	// catalogs are the records, agents or the defaults, with a faulty catalog.
	catalogs map[string]bool
	// refused are the ids that violate the grammar, as they appear in hints.
	refused []string
	// uses are the registries that a faulty part may reference, and lost those with a possibly
	// missing entry.
	uses, lost map[string]bool
	// errors is set if anything could not be read, so that agents' permissions are unknown.
	errors bool
	// unknownTop is set if a file has an unknown top-level key.
	unknownTop bool
}

func newConsequences() consequences {
	return consequences{catalogs: map[string]bool{}, uses: map[string]bool{}, lost: map[string]bool{}}
}

// addFinding records the possible consequences of a loading diagnostic.
func (c *consequences) addFinding(d *diag.Diagnostic) {
	at, ok := diag.ParsePath(d.Path)
	if !ok {
		return
	}
	c.addReferredRegistries(at)
	c.errors = c.errors || d.Severity == diag.Error
	switch d.Code {
	case diag.UnknownField:
		c.unknownTop = c.unknownTop || len(at) == 1
		c.addUnknownAgentField(at)
	case diag.MissingField:
		c.addUnknownAgentField(at)
	case diag.InvalidID:
		c.refused = append(c.refused, strconv.Quote(at[len(at)-1].Key))
	}
}

// addMissingRegistries records the registries missing from all files, if an unknown top-level key
// may be meant for any of them.
func (c *consequences) addMissingRegistries(root *yamltree.Node) {
	if !c.unknownTop || root == nil {
		return
	}
	for _, r := range keys.Registries {
		if _, value := root.FindField(r.Name); value == nil {
			c.lost[r.Name] = true
		}
	}
}

// referrers are the fields of agents and the defaults that reference registry entries.
var referrers = map[string][]string{
	"model_id": {"models", "model_pools"}, "context_policy": {"models", "model_pools"},
	"plugin_ids": {"plugins"}, "active_hook_filter": {"plugins"},
	"allowed_tools": {"tools"}, "allowed_tool_patterns": {"tools"},
	"excluded_tools": {"tools"}, "excluded_tool_patterns": {"tools"},
}

// addReferredRegistries records the registries that a place references. An unreadable value there
// may be the only use of an entry.
func (c *consequences) addReferredRegistries(at []diag.Segment) {
	record, rest := at[0].Key, at[1:]
	if record == "agents" && len(rest) > 0 {
		record, rest = diag.Key(record, rest[0].Key), rest[1:]
	}
	switch top := at[0].Key; {
	case top == "models":
		c.uses["providers"] = true
	case top == "model_pools":
		c.uses["models"] = true
	case top != "agents" && top != "defaults":
	case len(rest) == 0, rest[0].Key == keys.Extends:
		c.anyEntry()
	default:
		for _, registry := range referrers[rest[0].Key] {
			c.uses[registry] = true
			if registry == "tools" {
				c.catalogs[record] = true
			}
		}
	}
}

// addUnknownAgentField records an agent's field with an unknown name or place: it may be any
// reference.
func (c *consequences) addUnknownAgentField(at []diag.Segment) {
	if at[0].Key == "agents" && len(at) == 3 || at[0].Key == "defaults" && len(at) == 2 {
		c.anyEntry()
	}
}

func (c *consequences) anyEntry() {
	for _, r := range keys.Registries {
		c.uses[r.Name] = true
	}
}

// isConsequence reports whether a building diagnostic is about something missing or unused that may
// be in an unreadable part of the files.
func (c *consequences) isConsequence(d diag.Diagnostic) bool {
	at, ok := diag.ParsePath(d.Path)
	if !ok {
		return false
	}
	for _, id := range c.refused {
		if strings.Contains(d.Hint, id) {
			return true // it is defined, but with an invalid id
		}
	}
	switch d.Code {
	case diag.WidenedAccess:
		return c.errors
	case diag.UnusedDefinition:
		return c.uses[at[0].Key]
	case diag.ProviderNotFound:
		return c.lost["providers"]
	case diag.ModelNotFound:
		return c.lost["models"] || c.lost["model_pools"]
	case diag.PluginNotFound, diag.UnknownHookFilter:
		return c.lost["plugins"]
	case diag.AgentNotFound:
		return c.lost["agents"]
	case diag.UnmatchedTool, diag.UnmatchedPattern, diag.UnknownRuleTool:
		return c.lost["tools"]
	case diag.NoTools, diag.OrphanPermissionRule, diag.NoEffect:
		return c.lost["tools"] && d.Code == diag.OrphanPermissionRule || c.catalogs["defaults"] || at[0].Key == "agents" && len(at) > 1 && c.catalogs[diag.Key("agents", at[1].Key)]
	default:
		return false
	}
}
