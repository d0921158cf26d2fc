package bounds

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server"
)

func documentInputs() map[string]input {
	return map[string]input{
		"JSON Patch": {bombs: map[string]bomb{
			"copies that double": {"copies and tests more than", func(*testing.T) error { return patch("copy", `{"x":1}`) }},
			"copies":             {"copies and tests more than", func(*testing.T) error { return patch("copy", `{"x":"`+strings.Repeat("x", size)+`"}`) }},
			"tests":              {"copies and tests more than", func(*testing.T) error { return patch("test", `{"x":"`+strings.Repeat("x", size)+`"}`) }},
			"a nested document":  {"", func(*testing.T) error { return patch("remove", nest("[", "1", "]", 9000)) }},
			"a long path": {"", func(*testing.T) error {
				_, err := agents.ApplyPatch([]byte(`{}`), []wire.PatchOp{{Op: "add", Path: strings.Repeat("/x", 5000), Value: []byte("1")}})
				return err
			}},
		}, tests: []string{"agents TestPatchesThatGrowAreRejected"}},
		"JSON of requests": {bombs: map[string]bomb{
			"nested":          {"levels deep", func(*testing.T) error { return checkJSON(nest("[", "1", "]", 9000)) }},
			"unclosed":        {"not valid JSON", func(*testing.T) error { return checkJSON(strings.Repeat("[", size)) }},
			"many values":     {"more than 500000 values", func(*testing.T) error { return checkJSON("[" + strings.Repeat("1,", 600_000) + "1]") }},
			"a large number":  {"", func(*testing.T) error { return checkJSON(`{"x":1e999999999,"y":` + strings.Repeat("9", size) + `}`) }},
			"equal keys":      {"is there twice", func(*testing.T) error { return checkJSON("{" + strings.Repeat(`"k":1,`, size/6) + `"k":1}`) }},
			"different keys":  {"", func(*testing.T) error { return checkJSON(repeat("{", `"%d":1`, ",", "}")) }},
			"nested with key": {"levels deep", func(*testing.T) error { return checkJSON(nest(`{"k":`, "1", "}", 9000)) }},
		}, tests: []string{"cli TestAMalformedBodyIsAnErrorOfTheClient"}},
		"configuration and overlays as YAML or JSON": {bombs: map[string]bomb{
			"aliases that double": {"aliases expanded", func(*testing.T) error {
				var text strings.Builder
				text.WriteString("version: 1\nagents: &a0 {x: {}}\n")
				for i := range 60 {
					fmt.Fprintf(&text, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
				}
				return parseConfig(text.String())
			}},
			"merges": {"unknown field", func(*testing.T) error {
				return parseConfig("version: 1\nx: &x {a: 1}\nagents: {<<: [" + strings.Repeat("*x, ", size/4) + "]}\n")
			}},
			"nested":  {"deep", func(*testing.T) error { return parseConfig("version: 1\nagents: " + strings.Repeat("[", size)) }},
			"unknown": {"unknown", func(*testing.T) error { return parseConfig(repeat("version: 1\nagents: {a: {", "k%d: 1", ", ", "}}")) }},
			"a number": {"must be a whole number", func(*testing.T) error {
				return parseConfig("version: 1\nagents: {a: {model_id: m, max_rounds: 1e999999999}}")
			}},
			"agents": {"", func(*testing.T) error {
				return parseConfig(repeat("version: 1\nagents: {", "a%d: {model_id: m}", ", ", "}"))
			}},
		}, tests: []string{"config TestBombs", "service/fleet TestOverlaysHaveLimitedEntries"}},
		"filters of lists": {tests: []string{"server/native TestFiltersOfListsAreBounded"}},
		"arguments of tool calls": {tests: []string{
			"model TestRepairingArgumentsIsBounded", "tools/command TestNumbersWithManyDigitsAreRejected",
		}},
	}
}

func patch(op, document string) error {
	list := make([]wire.PatchOp, 1000)
	for i := range list {
		list[i] = wire.PatchOp{Op: op, Path: fmt.Sprintf("/c%d", i), Value: []byte(`1`)}
		if op == "test" {
			list[i].Path, list[i].Value = "", []byte(document)
		}
	}
	_, err := agents.ApplyPatch([]byte(document), list)
	return err
}

func checkJSON(text string) error { return server.CheckJSON([]byte(text), server.MaxJSONDepth) }

// parseConfig returns the first error of a configuration.
func parseConfig(text string) error {
	components := shipped.Components()
	file, list := config.Parse([]config.Source{{Name: "c.yaml", Data: []byte(text)}}, config.Options{Kinds: components.ConfigKinds()})
	for _, d := range file.Complete(list, nil) {
		if d.Severity == diag.Error {
			return d
		}
	}
	return nil
}
