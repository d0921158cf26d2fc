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
		Description: "Sessions and turns for clients of Gestalt. A provider is a name of the configuration, a model the id of a model or pool, or an alias of one.",
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
	Key string `json:"-" header:"Idempotency-Key" maxLength:"255" jsonschema:"Makes the request repeatable. It may be in the body as well."`
}

// pageQuery has the parameters of a list of sessions or turns.
type pageQuery struct {
	View    string `json:"-" query:"view" enum:"full,summary" default:"full" jsonschema:"How much of each is shown."`
	Summary bool   `json:"-" query:"summary" jsonschema:"The same as view=summary."`
	Limit   int    `json:"-" query:"limit" minimum:"1" maximum:"500" jsonschema:"How many there may be. 500 when absent; of summaries 100."`
	After   string `json:"-" query:"after" jsonschema:"The X-Next-After of the list before."`
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
	Limit int `json:"-" query:"limit" minimum:"0" maximum:"1000" default:"100" jsonschema:"How many there may be; 0 means all."`
}

type streamQuery struct {
	eventQuery
	Until       string `json:"-" query:"until" enum:"terminal,blocked_or_terminal" default:"terminal" jsonschema:"Whether the stream also ends when the turn waits for an answer."`
	LastEventID string `json:"-" header:"Last-Event-ID" jsonschema:"Takes the place of after."`
}

type harnessRequest struct {
	Provider string `json:"provider,omitempty"`
	Harness  string `json:"harness,omitempty"`
}

type createSessionView struct {
	keyHeader
	Provider       string           `json:"provider,omitempty" jsonschema:"The default one when absent."`
	Model          string           `json:"model,omitempty" jsonschema:"That of the provider when absent."`
	ClientRef      string           `json:"clientRef,omitempty"`
	Metadata       map[string]any   `json:"metadata,omitempty" null:"true"`
	ModelOptions   modelOptions     `json:"modelOptions,omitzero" null:"true"`
	IdempotencyKey string           `json:"idempotencyKey,omitempty"`
	Workspace      workspaceRequest `json:"workspace,omitempty" null:"true" jsonschema:"Checkouts of git repositories that the session works in. What the server does not allow, or cannot check out, is answered with 412."`
}

type modelOptions struct {
	_               struct{} `jsonschema:"Those of a session are for its turns without any."`
	Temperature     float64  `json:"temperature,omitempty"`
	TopP            float64  `json:"top_p,omitempty"`
	MaxOutputTokens int      `json:"max_output_tokens,omitempty"`
	ReasoningEffort any      `json:"reasoning_effort,omitempty"`
}

type workspaceRequest struct {
	Checkouts []struct {
		URL  string `json:"url" jsonschema:"An address with https, http, ssh, git or file, or user@host:path; without credentials."`
		Ref  string `json:"ref,omitempty" jsonschema:"A branch, a tag or a commit; the default branch when absent."`
		Path string `json:"path" jsonschema:"A relative path of the workspace."`
	} `json:"checkouts" minItems:"1" maxItems:"32"`
	Cwd string `json:"cwd" jsonschema:"A relative path in one of the checkouts."`
}

// sessionChanges are the changes of a session; absent fields stay unchanged.
type sessionChanges struct {
	sessionPath
	ClientRef *string                     `json:"clientRef,omitempty" null:"true"`
	State     *service.SessionStatus      `json:"state,omitempty" null:"true" jsonschema:"active or archived."`
	Metadata  *map[string]json.RawMessage `json:"metadata,omitempty" null:"true" jsonschema:"Takes the place of all there was."`
}

type createTurnView struct {
	sessionPath
	keyHeader
	Model          string         `json:"model,omitempty" jsonschema:"That of the session when absent."`
	Messages       []message      `json:"messages" minItems:"1"`
	ToolRefs       []toolRef      `json:"toolRefs,omitempty" jsonschema:"Tools besides the safe ones, those that only read. An empty list means no tools at all."`
	ToolSource     string         `json:"toolSource,omitempty" enum:",explicit,mcp_catalog,native_search" jsonschema:"explicit leaves out the safe tools. With native_search the model has to search for the tools, which it does by a tool."`
	ResponseSchema map[string]any `json:"responseSchema,omitempty" null:"true" jsonschema:"The JSON Schema of the answer."`
	Metadata       any            `json:"metadata,omitempty"`
	ModelOptions   modelOptions   `json:"modelOptions,omitzero" null:"true"`
	IdempotencyKey string         `json:"idempotencyKey,omitempty"`
}

type toolRef struct {
	_           struct{} `jsonschema:"All tools of a plugin, or one operation of it. A plugin is an entry of tools in the configuration."`
	Plugin      string   `json:"plugin,omitempty" jsonschema:"* is every tool that the caller may use."`
	PluginName  string   `json:"pluginName,omitempty" jsonschema:"Another name of plugin."`
	App         string   `json:"app,omitempty" jsonschema:"Another name of plugin."`
	AppName     string   `json:"appName,omitempty" jsonschema:"Another name of plugin."`
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
	Resolution map[string]json.RawMessage `json:"resolution" jsonschema:"What satisfies the response schema of the request. An answer that is not an object is its only field: answer, value, text or response. canceled refuses it."`
}
