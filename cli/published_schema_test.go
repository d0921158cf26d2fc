package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// publishedSchema returns the output of "runtime schema" and a compiler for it that asserts
// formats, as many validators do.
func publishedSchema(t *testing.T) (any, *jsonschema.Compiler) {
	t.Helper()
	var out bytes.Buffer
	if code := run(t.Context(), []string{"schema"}, terminal.Streams{Out: &out, Err: os.Stderr}); code != command.OK {
		t.Fatalf("exit code %d", code)
	}
	document, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.AssertContent()
	if err := compiler.AddResource("runtime.schema.json", document); err != nil {
		t.Fatal(err)
	}
	return document, compiler
}

func compileSchema(t *testing.T, compiler *jsonschema.Compiler, location string) *jsonschema.Schema {
	t.Helper()
	compiled, err := compiler.Compile(location)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// asInstance converts YAML to an instance for JSON Schema validation.
func asInstance(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
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
	return instance
}

// subschemas calls visit with each object of a schema that may be a schema, and
// its JSON pointer.
func subschemas(part any, pointer string, visit func(map[string]any, string)) {
	switch v := part.(type) {
	case []any:
		for i := range v {
			subschemas(v[i], pointer+"/"+strconv.Itoa(i), visit)
		}
	case map[string]any:
		if !strings.HasSuffix(pointer, "/properties") && !strings.HasSuffix(pointer, "/$defs") {
			visit(v, pointer)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key == "default" || key == "examples" || key == "enum" || key == "const" {
				continue
			}
			subschemas(v[key], pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), visit)
		}
	}
}

// The published schema satisfies the metaschema, and its own defaults and examples satisfy it.
func TestThePublishedSchemaAcceptsItsOwnDefaults(t *testing.T) {
	document, compiler := publishedSchema(t)
	if err := compileSchema(t, compiler, "https://json-schema.org/draft/2020-12/schema").Validate(document); err != nil {
		t.Errorf("the schema violates the schema of schemas: %v", err)
	}
	checked := 0
	subschemas(document, "#", func(schema map[string]any, pointer string) {
		if format, ok := schema["format"].(string); ok {
			t.Errorf("%s has the format %s: variables do not have it before they are expanded; use a pattern", pointer, format)
		}
		var values []any
		if v, ok := schema["default"]; ok {
			values = append(values, v)
		}
		examples, _ := schema["examples"].([]any)
		for _, v := range append(values, examples...) {
			checked++
			if err := compileSchema(t, compiler, "runtime.schema.json"+pointer).Validate(v); err != nil {
				t.Errorf("%s refuses its default or example %v: %v", pointer, v, err)
			}
		}
	})
	if checked < 50 {
		t.Errorf("only %d defaults and examples were found", checked)
	}
}

// A text may be a variable wherever the loader expands one, sections included.
func TestThePublishedSchemaAcceptsVariablesInSections(t *testing.T) {
	_, compiler := publishedSchema(t)
	schema := compileSchema(t, compiler, "runtime.schema.json")
	for section, valid := range map[string]bool{
		`{retry: {backoff_base: "${PAUSE}"}}`:                                                     true,
		`{retry: {backoff_base: 500ms, stream_idle_timeout: 1m30s}}`:                              true,
		`{retry: {backoff_base: soon}}`:                                                           false,
		`{retry: {backoff_base: PT5S}}`:                                                           false,
		`{retry: {backoff_base: 5}}`:                                                              false,
		`{permission: {default_behavior: "${BEHAVIOR}"}}`:                                         true,
		`{permission: {default_behavior: alow}}`:                                                  false,
		`{permission: {rules: [{tool: wc, behavior: "${BEHAVIOR:-ask}"}]}}`:                       true,
		`{permission: {rules: [{tool: wc, behavior: sometimes}]}}`:                                false,
		`{permission: {rules: [{tool: "", behavior: deny}]}}`:                                     false,
		`{permission: {default_behavior: deny, rules: [{tool: "${FORBIDDEN}", behavior: deny}]}}`: true,
	} {
		err := schema.Validate(asInstance(t, []byte("version: 1\nagents: {a: {model_id: m, sections: "+section+"}}\n")))
		if (err == nil) != valid {
			t.Errorf("%s: %v, want valid %t", section, err, valid)
		}
	}
}

// Every configuration that is shipped satisfies the published schema.
func TestThePublishedSchemaAcceptsShippedConfigurations(t *testing.T) {
	_, compiler := publishedSchema(t)
	schema := compileSchema(t, compiler, "runtime.schema.json")
	checked := 0
	for _, root := range []string{".", filepath.Join("..", "examples")} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil || !entry.IsDir() && filepath.Ext(path) != ".yaml":
				return err
			case entry.IsDir():
				if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
					return filepath.SkipDir // a separate program with its own kinds
				}
				return nil
			}
			if entry.Name() == "canaries.yaml" {
				return nil // a template; its placeholders are not ids
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, text := range configurationsIn(data) {
				checked++
				if err := schema.Validate(asInstance(t, text)); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 6 {
		t.Errorf("only %d configurations were found", checked)
	}
}

// configurationsIn returns the configurations among a file's documents: the document itself, or the
// content of a Kubernetes ConfigMap.
func configurationsIn(data []byte) [][]byte {
	var found [][]byte
	for text := range bytes.SplitSeq(data, []byte("\n---\n")) {
		var document struct {
			Version int
			Cases   map[string]any
			Data    map[string]string
		}
		if yaml.Unmarshal(text, &document) != nil {
			continue
		}
		if document.Version != 0 && document.Cases == nil { // no cases of evals
			found = append(found, text)
		}
		for name, value := range document.Data {
			if filepath.Ext(name) == ".yaml" && strings.Contains(value, "version: 1") {
				found = append(found, []byte(value))
			}
		}
	}
	return found
}
