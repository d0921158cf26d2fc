package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Error explains why an agent does not resolve: it holds all errors, each of which errors.As finds.
type Error struct {
	Agent string
	Errs  []error
}

// Error lists all errors.
func (e *Error) Error() string {
	texts := make([]string, len(e.Errs))
	for i, err := range e.Errs {
		texts[i] = err.Error()
	}
	return fmt.Sprintf("agent %s does not resolve: %s", e.Agent, strings.Join(texts, "; "))
}

// Unwrap returns the errors.
func (e *Error) Unwrap() []error { return e.Errs }

// Reference is a reference to a missing entry.
type Reference struct {
	// ID is the missing id.
	ID string
	// Agent is the agent that contains the reference, directly or through its model.
	Agent string
	// Path is the path of the reference.
	Path string
	// Nearest is the known id that is most similar to ID, or is probably meant; empty for none.
	Nearest string
	// Hint suggests what to write instead; if empty, Nearest is suggested.
	Hint string
}

func (r *Reference) notDefined(code diag.Code, kind string) diag.Diagnostic {
	d := diag.New(code, r.Path, "%s %q is not defined", kind, r.ID).ForAgent(r.Agent)
	switch {
	case r.Hint != "":
		d = d.WithHint("%s", r.Hint)
	case r.Nearest != "":
		d = d.WithHint("did you mean %q?", r.Nearest)
	}
	return d
}

// AgentNotFoundError reports a requested agent or delegate that does not exist.
type AgentNotFoundError struct{ Reference }

// ModelNotFoundError reports that a model or pool does not exist.
type ModelNotFoundError struct{ Reference }

// ProviderNotFoundError reports that the provider of a model does not exist.
type ProviderNotFoundError struct{ Reference }

// AgentProviderNotFoundError reports that an agent's provider does not exist.
type AgentProviderNotFoundError struct{ Reference }

// PluginNotFoundError reports that a plugin does not exist.
type PluginNotFoundError struct{ Reference }

// Diagnostic returns the error as agent-not-found.
func (e *AgentNotFoundError) Diagnostic() diag.Diagnostic {
	return e.notDefined(diag.AgentNotFound, "agent")
}

// Diagnostic returns the error as model-not-found.
func (e *ModelNotFoundError) Diagnostic() diag.Diagnostic {
	return e.notDefined(diag.ModelNotFound, "model")
}

// Diagnostic returns the error as provider-not-found.
func (e *ProviderNotFoundError) Diagnostic() diag.Diagnostic {
	return e.notDefined(diag.ProviderNotFound, "provider")
}

// Diagnostic returns the error as provider-not-found.
func (e *AgentProviderNotFoundError) Diagnostic() diag.Diagnostic {
	return e.notDefined(diag.ProviderNotFound, "agent provider")
}

// Diagnostic returns the error as plugin-not-found.
func (e *PluginNotFoundError) Diagnostic() diag.Diagnostic {
	return e.notDefined(diag.PluginNotFound, "plugin")
}

// Error returns the text of the diagnostic.
func (e *AgentNotFoundError) Error() string { return e.Diagnostic().Error() }

// Error returns the text of the diagnostic.
func (e *ModelNotFoundError) Error() string { return e.Diagnostic().Error() }

// Error returns the text of the diagnostic.
func (e *ProviderNotFoundError) Error() string { return e.Diagnostic().Error() }

// Error returns the text of the diagnostic.
func (e *AgentProviderNotFoundError) Error() string { return e.Diagnostic().Error() }

// Error returns the text of the diagnostic.
func (e *PluginNotFoundError) Error() string { return e.Diagnostic().Error() }

// AmbiguousModelError reports that an id names both a model and a pool.
type AmbiguousModelError struct {
	ID    string
	Agent string
	Path  string
}

// Diagnostic returns the error as ambiguous-model.
func (e *AmbiguousModelError) Diagnostic() diag.Diagnostic {
	return diag.New(diag.AmbiguousModel, e.Path, "%q is both a model and a model pool", e.ID).
		WithHint("rename one of them").ForAgent(e.Agent)
}

// Error returns the text of the diagnostic.
func (e *AmbiguousModelError) Error() string { return e.Diagnostic().Error() }

// InvalidPluginConfigError reports a section that the claiming plugin rejects.
type InvalidPluginConfigError struct {
	Agent  string
	Plugin string
	// Key is the section.
	Key string
	// Found is the violation; its path leads into the section.
	Found diag.Diagnostic
}

// Diagnostic returns the error as invalid-plugin-config, or as the more specific code from the
// plugin.
func (e *InvalidPluginConfigError) Diagnostic() diag.Diagnostic { return e.Found.ForAgent(e.Agent) }

// Error returns the text of the diagnostic.
func (e *InvalidPluginConfigError) Error() string { return e.Diagnostic().Error() }

// UnsupportedBackendError reports that no backend is registered for the kind of an endpoint or
// remote source.
type UnsupportedBackendError struct {
	// Agent is the agent that runs there, or delegates to it; empty for a remote source.
	Agent   string
	Backend string
	Path    string
	// Known are the registered kinds.
	Known []string
}

// Diagnostic returns the error as unsupported-backend.
func (e *UnsupportedBackendError) Diagnostic() diag.Diagnostic {
	d := diag.New(diag.UnsupportedBackend, e.Path, "no backend of kind %q is registered", e.Backend).ForAgent(e.Agent)
	if len(e.Known) == 0 {
		return d.WithHint("this program has no remote backend")
	}
	return d.WithHint("registered: %s", strings.Join(e.Known, ", "))
}

// Error returns the text of the diagnostic.
func (e *UnsupportedBackendError) Error() string { return e.Diagnostic().Error() }

// InvalidEndpointError reports that an endpoint is misconfigured.
type InvalidEndpointError struct {
	Agent   string
	Backend string
	// Found is the problem.
	Found diag.Diagnostic
}

// Diagnostic returns the error as invalid-endpoint.
func (e *InvalidEndpointError) Diagnostic() diag.Diagnostic { return e.Found.ForAgent(e.Agent) }

// Error returns the text of the diagnostic.
func (e *InvalidEndpointError) Error() string { return e.Diagnostic().Error() }

// RemoteNotLocalError reports a local resolve of an endpoint-backed agent.
type RemoteNotLocalError struct {
	Agent string
	Path  string
}

// Diagnostic returns the error as remote-not-local.
func (e *RemoteNotLocalError) Diagnostic() diag.Diagnostic {
	return diag.New(diag.RemoteNotLocal, e.Path, "agent %q runs at an endpoint, which alone knows its model and tools", e.Agent).
		WithHint("ask the peer, or give the agent a model_id instead of an endpoint").ForAgent(e.Agent)
}

// Error returns the text of the diagnostic.
func (e *RemoteNotLocalError) Error() string { return e.Diagnostic().Error() }

// ToolIDConflictError reports that two sources provide the same tool id.
type ToolIDConflictError struct {
	Agent         string
	ToolID        string
	First, Second toolset.Source
	Path          string
}

// Diagnostic returns the error as tool-id-conflict.
func (e *ToolIDConflictError) Diagnostic() diag.Diagnostic {
	return diag.New(diag.ToolIDConflict, e.Path, "tool id %q comes from both the %s and the %s", e.ToolID, e.First, e.Second).
		WithHint("rename one of them").ForAgent(e.Agent)
}

// Error returns the text of the diagnostic.
func (e *ToolIDConflictError) Error() string { return e.Diagnostic().Error() }

// EnvBuildError reports that an agent's plugin environment could not be built.
type EnvBuildError struct {
	Agent  string
	Plugin string
	Path   string
	Err    error
}

// Diagnostic returns the error as env-build.
func (e *EnvBuildError) Diagnostic() diag.Diagnostic {
	return diag.New(diag.EnvBuild, e.Path, "%v", e.Err).ForAgent(e.Agent)
}

// Error returns the text of the diagnostic.
func (e *EnvBuildError) Error() string { return e.Diagnostic().Error() }

// Unwrap returns the cause.
func (e *EnvBuildError) Unwrap() error { return e.Err }

// All errors of resolving can be shown as diagnostics.
var _ = []diag.Diagnoser{
	(*AgentNotFoundError)(nil), (*ModelNotFoundError)(nil), (*ProviderNotFoundError)(nil),
	(*AgentProviderNotFoundError)(nil), (*PluginNotFoundError)(nil), (*AmbiguousModelError)(nil), (*InvalidPluginConfigError)(nil),
	(*UnsupportedBackendError)(nil), (*InvalidEndpointError)(nil), (*RemoteNotLocalError)(nil),
	(*ToolIDConflictError)(nil), (*EnvBuildError)(nil),
}

// toDiagnostics returns all errors as diagnostics.
func toDiagnostics(errs []error) diag.List { return diag.FromError(errors.Join(errs...)) }

// dropRepeated drops repetitions: one cause may affect many agents.
func dropRepeated(errs []error) []error {
	type key struct {
		code          diag.Code
		path, message string
	}
	seen := make(map[key]bool, len(errs))
	return slices.DeleteFunc(errs, func(err error) bool {
		d, ok := err.(diag.Diagnoser) //nolint:errorlint // the errors of a check are not wrapped
		if !ok {
			return false
		}
		found := d.Diagnostic()
		k := key{found.Code, found.Path, found.Message}
		if seen[k] {
			return true
		}
		seen[k] = true
		return false
	})
}

// callGuarded calls a method of a component. It turns a panic into an error that names the
// method.
func callGuarded(what string, call func()) (err error) {
	defer panics.Handle(func(p *panics.Error) {
		err = fmt.Errorf("panic in %s: %v", what, p.Value)
	})
	call()
	return nil
}
