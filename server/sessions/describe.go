package sessions

import (
	"encoding/json"
	"reflect"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// OpenAPI describes the protocol.
func (s *Surface) OpenAPI() []byte {
	return server.DescribeSurface(&openapi.Surface{
		Title: "Sessions", Failure: reflect.TypeFor[surfacekit.GestaltError](), Package: reflect.TypeFor[Surface]().PkgPath(), Open: true,
		Description: "Sessions and turns for clients of Gestalt. A provider is a name in the configuration. A model is the id or an alias of a model or pool.",
	}, s.Routes())
}

// DeferDescription does nothing: tests check the description against the routes.
func (*Surface) DeferDescription() {}

// The types below describe requests. Fields that are read as raw JSON have their types here.

type sessionPath struct {
	Session string `json:"-" path:"session" jsonschema:"The id of the session."`
}

type turnPath struct {
	Turn string `json:"-" path:"turn" jsonschema:"The id of the turn."`
}

type interactionPath struct {
	turnPath
	Interaction string `json:"-" path:"interaction" jsonschema:"The id of the interaction."`
}

type keyHeader struct {
	Key string `json:"-" header:"Idempotency-Key" maxLength:"255" jsonschema:"Key that makes the request safe to repeat. It may also be in the body."`
}

// pageQuery has the parameters of a list of sessions or turns.
type pageQuery struct {
	View    string `json:"-" query:"view" enum:"full,summary" default:"full" jsonschema:"Level of detail of each entry."`
	Summary bool   `json:"-" query:"summary" jsonschema:"The same as view=summary."`
	Limit   int    `json:"-" query:"limit" minimum:"1" maximum:"500" jsonschema:"Maximum number of entries. Defaults to 500, or to 100 for summaries."`
	After   string `json:"-" query:"after" jsonschema:"Value of X-Next-After from the previous page."`
}

type sessionQuery struct {
	Provider string `json:"-" query:"provider" jsonschema:"Only sessions of this provider."`
	State    string `json:"-" query:"state" enum:"active,archived" jsonschema:"Only sessions in this state."`
	pageQuery
}

type turnQuery struct {
	sessionPath
	Status string `json:"-" query:"status" enum:"pending,running,waiting_for_input,succeeded,failed,canceled" jsonschema:"Only turns in this state."`
	pageQuery
}

type eventQuery struct {
	turnPath
	After int `json:"-" query:"after" minimum:"0" default:"0" jsonschema:"Only events after the one with this number."`
	Limit int `json:"-" query:"limit" minimum:"0" maximum:"1000" default:"100" jsonschema:"Maximum number of events. 0 means all."`
}

type streamQuery struct {
	eventQuery
	Until       string `json:"-" query:"until" enum:"terminal,blocked_or_terminal" default:"terminal" jsonschema:"Whether the stream also ends when the turn waits for an answer."`
	LastEventID string `json:"-" header:"Last-Event-ID" jsonschema:"Number of the last event received. Overrides after."`
}

type harnessRequest struct {
	Provider string `json:"provider,omitempty"`
	Harness  string `json:"harness,omitempty"`
}

type createSessionView struct {
	keyHeader
	Provider       string           `json:"provider,omitempty" jsonschema:"Provider of the session. Defaults to the default provider."`
	Model          string           `json:"model,omitempty" jsonschema:"Model of the session. Defaults to the model of the provider."`
	ClientRef      string           `json:"clientRef,omitempty"`
	Metadata       map[string]any   `json:"metadata,omitempty" null:"true"`
	ModelOptions   modelOptions     `json:"modelOptions,omitzero" null:"true"`
	IdempotencyKey string           `json:"idempotencyKey,omitempty"`
	Workspace      workspaceRequest `json:"workspace,omitempty" null:"true" jsonschema:"Checkouts of git repositories that the session works in. The request fails with 412 if the server does not allow a checkout or cannot complete it."`
}

type modelOptions struct {
	_               struct{} `jsonschema:"Options of a session apply to its turns that have none."`
	Temperature     float64  `json:"temperature,omitempty"`
	TopP            float64  `json:"top_p,omitempty"`
	MaxOutputTokens int      `json:"max_output_tokens,omitempty"`
	ReasoningEffort any      `json:"reasoning_effort,omitempty"`
}

type workspaceRequest struct {
	Checkouts []struct {
		URL  string `json:"url" jsonschema:"URL with the scheme https, http, ssh, git or file, or user@host:path. It must not have credentials."`
		Ref  string `json:"ref,omitempty" jsonschema:"Branch, tag or commit. Defaults to the default branch."`
		Path string `json:"path" jsonschema:"Path relative to the workspace."`
	} `json:"checkouts" minItems:"1" maxItems:"32"`
	Cwd string `json:"cwd" jsonschema:"Initial directory, relative to the workspace. It must be in one of the checkouts."`
}

// sessionChanges are the changes of a session; absent fields stay unchanged.
type sessionChanges struct {
	sessionPath
	ClientRef *string                     `json:"clientRef,omitempty" null:"true"`
	State     *service.SessionStatus      `json:"state,omitempty" null:"true" jsonschema:"State of the session: active or archived."`
	Metadata  *map[string]json.RawMessage `json:"metadata,omitempty" null:"true" jsonschema:"Replaces all existing metadata."`
}

type createTurnView struct {
	sessionPath
	keyHeader
	Model          string         `json:"model,omitempty" jsonschema:"Model of the turn. Defaults to the model of the session."`
	Messages       []message      `json:"messages" minItems:"1"`
	ToolRefs       []toolRef      `json:"toolRefs,omitempty" jsonschema:"Tools in addition to the safe ones, which only read. An empty list means no tools at all."`
	ToolSource     string         `json:"toolSource,omitempty" enum:",explicit,mcp_catalog,native_search" jsonschema:"Source of the tools. explicit omits the safe tools. With native_search, the model must find the tools with a search tool."`
	ResponseSchema map[string]any `json:"responseSchema,omitempty" null:"true" jsonschema:"JSON Schema of the answer."`
	Metadata       any            `json:"metadata,omitempty"`
	ModelOptions   modelOptions   `json:"modelOptions,omitzero" null:"true"`
	IdempotencyKey string         `json:"idempotencyKey,omitempty"`
}

type toolRef struct {
	_           struct{} `jsonschema:"All tools of a plugin, or one operation of it. A plugin is an entry of tools in the configuration."`
	Plugin      string   `json:"plugin,omitempty" jsonschema:"Id of the plugin. * selects every tool that the caller may use."`
	PluginName  string   `json:"pluginName,omitempty" jsonschema:"Alias of plugin."`
	App         string   `json:"app,omitempty" jsonschema:"Alias of plugin."`
	AppName     string   `json:"appName,omitempty" jsonschema:"Alias of plugin."`
	System      string   `json:"system,omitempty"`
	Operation   string   `json:"operation,omitempty"`
	Connection  string   `json:"connection,omitempty"`
	Instance    string   `json:"instance,omitempty"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
}

type cancellation struct {
	turnPath
	Reason string `json:"reason,omitempty"`
}

type resolutionRequest struct {
	interactionPath
	Resolution map[string]json.RawMessage `json:"resolution" jsonschema:"Answer that matches the response schema of the request. Send an answer that is not an object as the only field: answer, value, text or response. Set canceled to decline the request."`
}
