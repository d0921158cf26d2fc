package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/zap"
	"go.yaml.in/yaml/v4"
)

// TestSchema validates configurations with the schema for editors: the output of init, the example,
// and some invalid ones.
func TestSchema(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"schema"}, terminal.Streams{Out: &out, Err: os.Stderr}); code != command.OK {
		t.Fatalf("exit code %d", code)
	}
	document, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("runtime.schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("runtime.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join("..", "examples", "team", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, text string
		valid      bool
	}{
		{"init", string(initConfig), true},
		{"example", string(example), true},
		{"empty", "version: 1", true},
		{"no version", "agents: {}", false},
		{"unknown field", "version: 1\nagents: {a: {model_id: m, sytem_prompt: x}}", false},
		{"unknown type", "version: 1\ntools: {a: {type: comand}}", false},
		{"wrong section", "version: 1\nagents: {a: {model_id: m, sections: {permission: {default_behavior: alow}}}}", false},
		{"section of a plugin", "version: 1\nagents: {a: {model_id: m, sections: {permission: {default_behavior: allow}}}}", true},
	} {
		var v any
		if err := yaml.Unmarshal([]byte(test.text), &v); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(instance); (err == nil) != test.valid {
			t.Errorf("%s: %v, want valid %t", test.name, err, test.valid)
		}
	}
}

// TestInitSchemaLine checks that the configuration written by init points editors to the schema
// beside it.
func TestInitSchemaLine(t *testing.T) {
	first, _, _ := strings.Cut(string(initConfig), "\n")
	if first != "# yaml-language-server: $schema="+terminal.DefaultName+schemaSuffix {
		t.Errorf("the first line is %q", first)
	}
}

// TestComponents checks that the component names are unique.
func TestComponents(t *testing.T) {
	c := shipped.Components()
	var names []string
	for _, k := range c.Kinds.Providers {
		names = append(names, "provider "+k.Type)
	}
	for _, k := range c.Kinds.Tools {
		names = append(names, "tool "+k.Type)
	}
	for _, k := range c.Kinds.Plugins {
		names = append(names, "plugin kind "+k.Type)
	}
	for _, p := range c.Plugins {
		names = append(names, "plugin "+p.ID)
	}
	for _, newBackend := range c.Backends {
		names = append(names, "backend "+newBackend(zap.NewNop()).Kind())
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); !slices.Equal(unique, names) {
		t.Errorf("a name is used twice: %v", names)
	}
}

// TestColored checks which outputs count as terminals.
func TestColored(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	device, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if !terminal.Colored(device) || terminal.Colored(file) || terminal.Colored(&bytes.Buffer{}) {
		t.Errorf("terminal %t, file %t, buffer %t", terminal.Colored(device), terminal.Colored(file), terminal.Colored(&bytes.Buffer{}))
	}
	t.Setenv("TERM", "dumb")
	if terminal.Colored(device) {
		t.Error("colour on a dumb terminal")
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	if terminal.Colored(device) {
		t.Error("colour in spite of NO_COLOR")
	}
}
