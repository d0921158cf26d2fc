package config

// formatVersion is the version of the file format.
const formatVersion = 1

// The top-level keys that have a meaning of their own.
const (
	agentsKey    = "agents"
	modelsKey    = "models"
	poolsKey     = "model_pools"
	toolsKey     = "tools"
	workflowsKey = "workflows"
	tenantsKey   = "tenants"
	patchesKey   = "patches"
)

// The keys of entries that the loader reads itself.
const (
	extendsKey       = "extends"
	allowWideningKey = "allow_widening"
	// dirKey is a document entry's field with the base of its relative paths, as a path from the
	// document's directory. Entries of files in other directories have it, because a component may
	// use its directory for more than the fields known to be paths.
	dirKey = "$dir"
)

// The workflow groups in Gestalt's spelling, and the fields that mark their entries.
const (
	eventTriggersGroup = "eventTriggers"
	schedulesGroup     = "schedules"
	matchKey           = "match"
	cronKey            = "cron"
)

// The meanings of patches and of allow_widening in them.
const (
	patchesDoc       = "Changes of entries that are defined elsewhere: absent fields stay, null clears a field, mappings are merged, anything else is replaced."
	allowWideningDoc = "Whether patches may let agents do more than they may without them; otherwise that is an error."
)
