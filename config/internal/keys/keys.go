// Package keys lists the keys of configuration files: the registries, the settings, and those that
// the loader reads itself.
package keys

import (
	"strings"

	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Version is the version of the file format.
const Version = 1

// The top-level keys that the loader treats specially.
const (
	Agents    = "agents"
	Models    = "models"
	Pools     = "model_pools"
	Tools     = "tools"
	Workflows = "workflows"
	Tenants   = "tenants"
	Patches   = "patches"
)

// Declared are a document's top-level keys, in order: those that turns resolve from.
var Declared = []string{"providers", Models, Pools, Tools, "plugins", "agent_providers", Agents, Workflows, "remote_agents", "defaults", Tenants}

// Placed are the registries whose entries become components, which know their file's directory.
var Placed = []string{"providers", Tools, "plugins", "agent_providers"}

// The keys of entries that the loader reads itself.
const (
	Extends       = "extends"
	AllowWidening = "allow_widening"
	// Dir is a document entry's field with the base of its relative paths, as a path from the
	// document's directory. Entries of files in other directories have it, because a component may
	// use its directory for more than the fields known to be paths.
	Dir = "$dir"
)

// The workflow groups in Gestalt's spelling, and the fields that mark their entries.
const (
	EventTriggers = "eventTriggers"
	Schedules     = "schedules"
	Match         = "match"
	Cron          = "cron"
)

// The meanings of patches and of allow_widening in them.
const (
	PatchesDoc       = "Changes of entries that are defined elsewhere: absent fields stay, null clears a field, mappings are merged, anything else is replaced."
	AllowWideningDoc = "Whether patches may let agents do more than they may without them; otherwise that is an error."
)

// IsExtension reports whether a key is ignored by the runtime. Keys that begin with x- hold
// anchors, or notes for other tools.
func IsExtension(key string) bool { return len(key) > len("x-") && strings.HasPrefix(key, "x-") }

// IsWorkflowGroup reports whether an entry of workflows is a group, not a workflow with such an id.
func IsWorkflowGroup(id string, value *yamltree.Node) bool {
	if id != EventTriggers && id != Schedules || value.Kind != yamltree.Mapping {
		return false
	}
	_, steps := value.FindField("steps")
	_, target := value.FindField("target")
	return steps == nil && target == nil
}
