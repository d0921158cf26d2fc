package diag

// Severity is the severity of a diagnostic.
type Severity string

// The severities, heaviest first.
const (
	// Error makes a configuration invalid: nothing is built from it.
	Error Severity = "error"
	// Warning marks a probable mistake. It blocks nothing unless strict checking is enabled.
	Warning Severity = "warning"
	// Note is informational. It is named "info" in every output.
	Note Severity = "info"
)

// Code names one kind of problem. Codes are part of the product's contract:
// they appear in the text, JSON, SARIF and GitHub output exactly as written
// here and never change their meaning.
type Code string

// The codes of everything the runtime can report about a configuration.
const (
	// InvalidYAML is reported for a file that does not parse.
	InvalidYAML Code = "invalid-yaml"
	// UnsupportedVersion is reported when version is absent or unknown.
	UnsupportedVersion Code = "unsupported-version"
	// UnknownField is reported for a key that the record does not have.
	UnknownField Code = "unknown-field"
	// MissingField is reported for a required key that is absent.
	MissingField Code = "missing-field"
	// InvalidValue is reported for a value that its field does not allow.
	InvalidValue Code = "invalid-value"
	// DuplicateID is reported for two entries of a registry with the same id.
	DuplicateID Code = "duplicate-id"
	// InvalidID is reported for an id that does not match the grammar.
	InvalidID Code = "invalid-id"
	// MissingDirectory notes a directory that does not exist on this machine.
	MissingDirectory Code = "missing-directory"
	// UnsetVariable is reported for ${NAME} without a value or a default.
	UnsetVariable Code = "unset-variable"
	// AgentNotFound is reported for a delegate, extended agent or requested agent that does not
	// exist.
	AgentNotFound Code = "agent-not-found"
	// ModelNotFound is reported for a reference to a model that does not exist.
	ModelNotFound Code = "model-not-found"
	// ProviderNotFound is reported for a reference to a missing provider.
	ProviderNotFound Code = "provider-not-found"
	// PluginNotFound is reported for a reference to a missing plugin.
	PluginNotFound Code = "plugin-not-found"
	// AmbiguousModel is reported when an id is both a model and a pool.
	AmbiguousModel Code = "ambiguous-model"
	// InvalidPluginConfig is reported once per violation of a plugin's schema.
	InvalidPluginConfig Code = "invalid-plugin-config"
	// UnsupportedBackend is reported when no registered backend can reach an
	// endpoint-backed agent.
	UnsupportedBackend Code = "unsupported-backend"
	// InvalidEndpoint is reported for an endpoint that is misconfigured.
	InvalidEndpoint Code = "invalid-endpoint"
	// RemoteNotLocal is reported when an endpoint-backed agent is resolved locally.
	RemoteNotLocal Code = "remote-not-local"
	// ToolIDConflict is reported when two sources provide the same tool id.
	ToolIDConflict Code = "tool-id-conflict"
	// InvalidPattern is reported for a glob that does not compile.
	InvalidPattern Code = "invalid-pattern"
	// InvalidSchema is reported for something that is not a valid JSON Schema.
	InvalidSchema Code = "invalid-schema"
	// EnvBuild is reported when a plugin's Register fails, or two plugins register the same
	// handler.
	EnvBuild Code = "env-build"
	// UnmatchedPattern warns of a catalog pattern that matches no tool.
	UnmatchedPattern Code = "unmatched-pattern"
	// UnmatchedTool warns of a catalog literal, or a tool budget, that names no tool.
	UnmatchedTool Code = "unmatched-tool"
	// UnmatchedAgent warns of a credential's pattern that matches no agent.
	UnmatchedAgent Code = "unmatched-agent"
	// UnknownScope warns of a credential's scope that no route requires.
	UnknownScope Code = "unknown-scope"
	// PermissionShapedEntry warns of a catalog entry with (…).
	PermissionShapedEntry Code = "permission-shaped-entry"
	// OrphanPermissionRule warns of a permission rule for a tool that the
	// agent does not have.
	OrphanPermissionRule Code = "orphan-permission-rule"
	// UnknownRuleTool is reported for a permission rule that restricts a nonexistent tool.
	UnknownRuleTool Code = "unknown-rule-tool"
	// UnattendedApproval warns of a run that starts automatically and may wait for a person
	// indefinitely.
	UnattendedApproval Code = "unattended-approval"
	// InvalidCondition is reported for a permission rule's condition that does not match the tool's
	// arguments: a value of the wrong type, or an argument that the tool does not have. The latter
	// is a warning if the tool may take arguments that it does not list.
	InvalidCondition Code = "invalid-condition"
	// UnclaimedSection is reported for a section that no loaded plugin claims: an error if the
	// section was written as a guard, otherwise a warning.
	UnclaimedSection Code = "unclaimed-section"
	// IgnoredField is reported for a field without an effect: an error if the field is a guard,
	// otherwise a warning.
	IgnoredField Code = "ignored-field"
	// NoEffect warns of a setting that cannot take effect in this configuration.
	NoEffect Code = "no-effect"
	// PlainSecret warns of a secret written in the file. The value is never printed.
	PlainSecret Code = "plain-secret"
	// UnknownHookFilter warns of a filter entry that names no loaded plugin.
	UnknownHookFilter Code = "unknown-hook-filter"
	// DelegateCycle warns of agents that can call each other in a cycle.
	DelegateCycle Code = "delegate-cycle"
	// NoTools warns of a catalog that leaves an agent without any tool.
	NoTools Code = "no-tools"
	// NoCatalog warns of a server whose tools are unknown, because it was never queried or its
	// answer was unusable.
	NoCatalog Code = "no-catalog"
	// NoDescription warns of an agent that is visible to others without a description.
	NoDescription Code = "no-description"
	// NoRetry notes a file in which no agent retries model calls.
	NoRetry Code = "no-retry"
	// AdaptedTool notes tools that a model vendor receives in another form.
	AdaptedTool Code = "adapted-tool"
	// UnusedDefinition notes a definition that nothing uses.
	UnusedDefinition Code = "unused-definition"
	// UnmatchedPatch is reported for a patch of an entry that does not exist.
	UnmatchedPatch Code = "unmatched-patch"
	// WidenedAccess is reported for a patch that lets an agent do more than without the patch,
	// unless it sets allow_widening.
	WidenedAccess Code = "widened-access"
	// UndeclaredVariable is reported for a prompt that uses a turn variable its agent does not
	// declare.
	UndeclaredVariable Code = "undeclared-variable"
	// ToolNotFound is reported for a workflow step that calls a tool that does not exist or that
	// its agent does not have.
	ToolNotFound Code = "tool-not-found"
	// InvalidTemplate is reported for a workflow's ${{ … }} that cannot be parsed or refers to
	// nothing.
	InvalidTemplate Code = "invalid-template"
	// UnknownStep is reported for a reference to a step that does not exist or has not run at that
	// point.
	UnknownStep Code = "unknown-step"
	// InvalidIgnore warns of a comment "# runtime: ignore …" that names no known code, gives no
	// reason, concerns an error, or silences nothing.
	InvalidIgnore Code = "invalid-ignore"
)

// Info describes a code: its default severity, and one sentence on when it appears.
type Info struct {
	Code     Code
	Severity Severity
	Summary  string
}

// codes lists all codes, in the order of the documentation.
var codes = []Info{
	{InvalidYAML, Error, "The file does not parse."},
	{UnsupportedVersion, Error, "The version field is missing or unknown."},
	{UnknownField, Error, "A record has a key that it does not know."},
	{MissingField, Error, "A record lacks a required key."},
	{InvalidValue, Error, "A value lies outside what its field allows."},
	{DuplicateID, Error, "Two entries of a registry have one id."},
	{InvalidID, Error, "An id does not fit the grammar of ids."},
	{MissingDirectory, Note, "A directory that a tool or program works in does not exist on this machine."},
	{UnsetVariable, Warning, "A ${NAME} has neither a value nor a default."},
	{AgentNotFound, Error, "A delegate, a handoff, an extended or the asked-for agent does not exist."},
	{ModelNotFound, Error, "A reference names a model or pool that does not exist."},
	{ProviderNotFound, Error, "A reference names a provider that does not exist."},
	{PluginNotFound, Error, "A reference names a plugin that does not exist."},
	{AmbiguousModel, Error, "One id names both a model and a pool."},
	{InvalidPluginConfig, Error, "A section violates the schema of the plugin that claims it."},
	{UnsupportedBackend, Error, "No registered backend can reach an endpoint-backed agent."},
	{InvalidEndpoint, Error, "An endpoint is misconfigured."},
	{RemoteNotLocal, Error, "A local resolve, or a handoff, was asked of an endpoint-backed agent."},
	{ToolIDConflict, Error, "Two sources give one tool id."},
	{InvalidPattern, Error, "A glob does not compile."},
	{InvalidSchema, Error, "A tool's parameters, a plugin's section schema, the form of an answer or the variables of an agent are not a valid JSON Schema, or names fields where its keywords belong."},
	{EnvBuild, Error, "A plugin's Register failed, or two plugins register one handler."},
	{UnmatchedPattern, Warning, "A catalog pattern matches no registered tool."},
	{UnmatchedTool, Warning, "A catalog literal or a tool budget names no registered tool."},
	{UnmatchedAgent, Warning, "The agents of a key or client match no agent."},
	{UnknownScope, Warning, "A key or client has a scope that nothing needs."},
	{PermissionShapedEntry, Warning, "A catalog entry with (…) was probably meant for sections.permission."},
	{OrphanPermissionRule, Warning, "A permission rule names a tool that the agent does not have."},
	{UnknownRuleTool, Error, "A permission rule that asks, denies or terminates names a tool that does not exist."},
	{UnattendedApproval, Warning, "A schedule, event or webhook starts an agent whose permission rules need a person's approval, and nothing bounds the wait."},
	{InvalidCondition, Error, "A condition of a permission rule does not fit the tool's arguments; a warning where the tool may take others than those it lists."},
	{UnclaimedSection, Warning, "No loaded plugin claims a section; an error when a plugin that guards would claim it."},
	{IgnoredField, Error, "A guard field has no effect here, as with an endpoint. A warning for other fields."},
	{NoEffect, Warning, "A setting cannot take effect as things are."},
	{PlainSecret, Warning, "A secret is written in the file instead of in a variable or a separate file."},
	{UnknownHookFilter, Warning, "active_hook_filter names a plugin that is not loaded."},
	{DelegateCycle, Warning, "Agents can call each other in a circle."},
	{NoTools, Warning, "The catalog leaves an agent with no tool although some are registered."},
	{NoCatalog, Warning, "The tools of a server are unknown, because they were never listed."},
	{NoDescription, Warning, "An agent that a server lists, or that other agents call or hand over to, has no description: others see only its ID."},
	{NoRetry, Note, "No agent repeats model calls that fail: one 429 fails a turn. Only of files with a provider that has a `base_url`."},
	{AdaptedTool, Note, "A vendor of models gets a tool under another name, or without constraints that its schema has."},
	{UnusedDefinition, Note, "Nothing uses a model, provider, plugin or tool."},
	{UnmatchedPatch, Error, "A patch is for an entry that does not exist."},
	{WidenedAccess, Error, "A patch lets an agent do more than it may without the patch, and does not say `allow_widening: true`."},
	{UndeclaredVariable, Error, "A prompt uses a ${turn.NAME} that its agent does not declare under variables."},
	{ToolNotFound, Error, "A step of a workflow calls a tool that does not exist, or that its agent does not have."},
	{InvalidTemplate, Error, "A ${{ … }} of a workflow cannot be read, or leads to nothing."},
	{UnknownStep, Error, "A workflow step refers to a step that runs later or does not exist."},
	{InvalidIgnore, Warning, "A comment `# runtime: ignore` has an unknown code or no reason, is about an error, or silences nothing."},
}

// Codes returns the description of every code, in the order of the
// documentation.
func Codes() []Info { return append([]Info(nil), codes...) }

// Info returns the description of c; for an unknown code it has severity Error and no summary.
func (c Code) Info() Info {
	for _, info := range codes {
		if info.Code == c {
			return info
		}
	}
	return Info{Code: c, Severity: Error}
}

// MarksKey reports whether a diagnostic of this code concerns the key at its path rather than the
// value, so that a renderer underlines the key.
func (c Code) MarksKey() bool {
	switch c {
	case UnknownField, MissingField, DuplicateID, InvalidID, UnclaimedSection, IgnoredField, UnusedDefinition, NoTools, NoCatalog, NoDescription, NoRetry, AdaptedTool, UnmatchedPatch:
		return true
	default:
		return false
	}
}
