package bounds

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// recursive is a schema whose validation takes more steps the deeper a value is nested.
const recursive = `{"type":"object","properties":{"v":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[{"items":{"$ref":"#/$defs/n"},"maxItems":0},{"items":{"$ref":"#/$defs/n"},"maxItems":0},{"type":"string"}]}}}`

// schemaPlaces compile and use a schema in each place where others write schemas.
var schemaPlaces = map[string]func(t *testing.T, schema, value string) error{
	"forms of answers":      validateAnswer,
	"parameters of tools":   validateArguments,
	"sections of plugins":   validateSection,
	"variables of turns":    validateVariables,
	"questions and answers": validateReply,
}

func schemaInputs() map[string]input {
	in := input{bombs: map[string]bomb{}, tests: []string{
		"internal/schema TestSchemaBombsAreBounded", "internal/schema TestAValidationEndsWithItsContext",
		"tools/mcp TestSchemasOfAServerAreBounded", "cli TestSchemaBombsHarmNobody",
	}}
	for place, validate := range schemaPlaces {
		in.bombs[place+": alternatives that double"] = bomb{"alternatives for one value", func(t *testing.T) error { return validate(t, doubling(26), `{"v":1}`) }}
		in.bombs[place+": a nested value"] = bomb{"too many steps", func(t *testing.T) error { return validate(t, recursive, `{"v":`+nest("[", "1", "]", 90)+`}`) }}
	}
	return map[string]input{"JSON Schemas and values": in}
}

func validateAnswer(t *testing.T, schema, value string) error {
	form, err := backend.NewOutputForm(&spec.OutputSchema{Schema: []byte(schema)})
	if err != nil {
		return err
	}
	_, problem := form.Check(t.Context(), value)
	return errors.New(problem)
}

// rawTool is a tool with a schema.
type rawTool string

func (r rawTool) Descriptor() tools.Descriptor { return tools.Descriptor{Parameters: []byte(r)} }

func (rawTool) Call(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, nil }

func validateArguments(t *testing.T, schema, value string) error {
	entry, list := toolset.Compile("x", rawTool(schema), toolset.Source{Kind: toolset.SourceGlobal})
	if err := list.Err(); err != nil {
		return err
	}
	return errors.New(entry.CheckArguments(t.Context(), []byte(value)))
}

// claim is a plugin that claims a section with a schema.
type claim string

func (c claim) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{Sections: []plugins.Section{{Key: "s", Schema: []byte(c)}}}
}

func (claim) Register(*plugins.Registrar) error { return nil }

// publish publishes a configuration with one agent.
func publish(t *testing.T, agent *spec.Agent, plugin plugins.Plugin) (*registry.Revision, error) {
	answers, err := scripted.New(scripted.Script{})
	if err != nil {
		t.Fatal(err)
	}
	agent.ID, agent.ModelID = "a", "m"
	return registry.NewStore(resolve.Check).Publish(t.Context(), func(d *registry.Draft) error {
		d.Providers.Put("p", answers)
		d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"})
		d.Agents.Put("a", agent)
		if plugin != nil {
			d.Plugins.Put("x", plugin)
			agent.PluginIDs = []string{"x"}
		}
		return nil
	})
}

func validateSection(t *testing.T, schema, value string) error {
	_, err := publish(t, &spec.Agent{Sections: spec.Sections{"s": []byte(value)}}, claim(schema))
	return err
}

func validateVariables(t *testing.T, schema, value string) error {
	var declared map[string]json.RawMessage
	if err := json.Unmarshal([]byte(schema), &declared); err != nil {
		t.Fatal(err)
	}
	declared["type"] = []byte(`"object"`)
	if declared["properties"] == nil {
		declared["properties"] = []byte(`{"v":{}}`)
	}
	variables, err := json.Marshal(declared)
	if err != nil {
		t.Fatal(err)
	}
	revision, err := publish(t, &spec.Agent{Variables: variables}, nil)
	if err != nil {
		return err
	}
	return fill(t, revision, value)
}

// fill resolves the agent with a turn's variables.
func fill(t *testing.T, revision *registry.Revision, values string) error {
	_, err := resolve.Resolve(t.Context(), revision, "a", resolve.Options{Variables: resolve.Variables{Fill: true, Values: []byte(values)}})
	return err
}

func validateReply(t *testing.T, schema, value string) error {
	return interaction.Check(t.Context(), &interaction.Request{ID: "q", ResponseSchema: []byte(schema)}, &interaction.Answer{Action: interaction.Resume, Result: []byte(value)})
}
