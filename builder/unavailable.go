package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// errBroken is the error for settings that the loader reported.
var errBroken = errors.New("its settings are wrong")

// unavailableTool replaces a tool that could not be created. It keeps the parameters, whose
// errors are reported separately.
type unavailableTool struct {
	err        error
	parameters json.RawMessage
}

// parametersOf returns the parameter schema in a tool's settings.
func parametersOf(settings any) json.RawMessage {
	var declared struct {
		Parameters json.RawMessage `json:"parameters"`
	}
	data, err := json.Marshal(settings)
	if err != nil || json.Unmarshal(data, &declared) != nil {
		return nil
	}
	return declared.Parameters
}

// Descriptor describes the parameters.
func (t unavailableTool) Descriptor() tools.Descriptor {
	return tools.Descriptor{Parameters: t.parameters}
}

// Call returns why the tool could not be made.
func (t unavailableTool) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{}, t.err
}

// unavailableProvider replaces an agent provider that could not be created.
type unavailableProvider struct{ err error }

// Validate returns nil: the error is reported for the provider itself.
func (unavailableProvider) Validate(*spec.Endpoint) diag.List { return nil }

// Host returns a backend that always fails.
func (p unavailableProvider) Host(*spec.Endpoint) (backend.Backend, error) { return p, nil }

// Probe returns nil: the error is reported for the provider itself.
func (unavailableProvider) Probe(context.Context, *spec.Agent) error { return nil }

// Profile claims everything, so that nothing else is reported.
func (unavailableProvider) Profile() backend.Profile { return backend.LocalProfile() }

// Execute returns why the provider could not be made.
func (p unavailableProvider) Execute(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
	return &backend.Result{}, fmt.Errorf("using the agent provider failed: %w", p.err)
}

// unavailablePlugin replaces a plugin that could not be created.
type unavailablePlugin struct{}

// Descriptor describes nothing.
func (unavailablePlugin) Descriptor() plugins.Descriptor { return plugins.Descriptor{} }

// Register registers nothing.
func (unavailablePlugin) Register(*plugins.Registrar) error { return nil }
