package provider

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/spec"
)

// options are the settings of an endpoint.
type options struct {
	// Model is the provider's name of a model; empty for its default.
	Model string `json:"model"`
	// ModelOptions are passed to the provider with each turn, and Metadata with the session.
	ModelOptions map[string]any `json:"model_options"`
	Metadata     map[string]any `json:"metadata"`
}

// optionNames are the valid options.
var optionNames = []string{"metadata", "model", "model_options"}

// decodeOptions decodes the options of an endpoint, and returns their problems.
func decodeOptions(e *spec.Endpoint) (*options, diag.List) {
	o := new(options)
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(e.Options)) {
		path := diag.Key("options", name)
		if !slices.Contains(optionNames, name) {
			d := diag.New(diag.InvalidEndpoint, path, "unknown option %q", name)
			if near, ok := nearest.Of(name, optionNames); ok {
				d = d.WithHint("did you mean %q?", near)
			}
			list = append(list, d)
			continue
		}
		single, err := json.Marshal(map[string]json.RawMessage{name: e.Options[name]})
		if err == nil {
			err = json.NewDecoder(bytes.NewReader(single)).Decode(o)
		}
		if err != nil {
			want := "an object"
			if name == "model" {
				want = "a text"
			}
			list = append(list, diag.New(diag.InvalidEndpoint, path, "%s must be %s", name, want))
		}
	}
	return o, list
}
