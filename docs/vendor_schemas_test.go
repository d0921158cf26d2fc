package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/anthropic"
	"github.com/agentruntime/agentruntime/model/bedrock"
	"github.com/agentruntime/agentruntime/model/google"
	"github.com/agentruntime/agentruntime/model/openai"
)

// schemaFeatures are argument schemas with one feature each.
var schemaFeatures = []struct{ name, schema string }{
	{"`oneOf`, `anyOf` at the root", `{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`},
	{"`allOf` at the root", `{"type":"object","allOf":[{"properties":{"a":{}}},{"properties":{"b":{}},"required":["b"]}]}`},
	{"`not` at the root", `{"type":"object","properties":{"a":{}},"not":{"required":["a","b"]}}`},
	{"`if`, `then` at the root", `{"type":"object","properties":{"a":{}},"if":{"required":["a"]},"then":{"required":["b"]}}`},
	{"`$ref` at the root", `{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"a":{"type":"string"}}}}}`},
	{"`$ref` to a definition", property(`{"$ref":"#/$defs/x"}`, `,"$defs":{"x":{"type":"string"}}`)},
	{"`$ref` to another place", property(`{"$ref":"#/properties/b"}`, ``)},
	{"`$ref`, recursive", property(`{"$ref":"#/$defs/x"}`, `,"$defs":{"x":{"type":"object","properties":{"next":{"$ref":"#/$defs/x"}}}}`)},
	{"`oneOf`", property(`{"oneOf":[{"type":"string"},{"type":"integer"}]}`, ``)},
	{"`anyOf`", property(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, ``)},
	{"`allOf`", property(`{"allOf":[{"type":"string"},{"description":"A."}]}`, ``)},
	{"`not`, `if`", property(`{"type":"string","not":{"type":"null"}}`, ``)},
	{"`const`, a text or number", property(`{"const":"x"}`, ``)},
	{"`const`, `enum` of other values", property(`{"enum":[true]}`, ``)},
	{"`enum` with null", property(`{"enum":["x",null]}`, ``)},
	{"a list of types with null", property(`{"type":["string","null"]}`, ``)},
	{"a list of other types", property(`{"type":["string","integer"]}`, ``)},
	{"`nullable`", property(`{"type":"string","nullable":true}`, ``)},
	{"`required: null`, `properties: null`", `{"type":"object","properties":null,"required":null}`},
	{"`true` as a schema", property(`true`, ``)},
	{"`format`: date-time, date, time", property(`{"type":"string","format":"date"}`, ``)},
	{"`format`, others", property(`{"type":"string","format":"uri"}`, ``)},
	{"`pattern`, `minLength`", property(`{"type":"string","pattern":"^a"}`, ``)},
	{"`minimum`, `minItems`", property(`{"type":"integer","minimum":1}`, ``)},
	{"`multipleOf`, `uniqueItems`, `exclusiveMinimum`", property(`{"type":"integer","multipleOf":2}`, ``)},
	{"an array without `items`", property(`{"type":"array"}`, ``)},
	{"lists of `items`, draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`},
	{"`additionalProperties`", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`},
	{"`patternProperties`", property(`{"type":"object","properties":{},"patternProperties":{"^a":{"type":"string"}}}`, ``)},
	{"a property such as `$top`", `{"type":"object","properties":{"$top":{"type":"integer"}}}`},
}

func property(schema, further string) string {
	return `{"type":"object","properties":{"a":` + schema + `,"b":{"type":"string"}}` + further + `}`
}

// schemaVendors returns the schema dialects with a model of each.
func schemaVendors(t *testing.T, address string) (names []string, vendors map[string]model.Executor, models map[string]string) {
	t.Helper()
	vendors, models = map[string]model.Executor{}, map[string]string{}
	add := func(name, upstream string, e model.Executor, err error) {
		if err != nil {
			t.Fatal(err)
		}
		names, vendors[name], models[name] = append(names, name), e, upstream
	}
	settings := model.Settings{ID: "p"}
	chat, err := openai.New(settings, &openai.Config{BaseURL: address, API: openai.ChatCompletions})
	add("`openai`, `azure_openai`", "m", chat, err)
	imitator, err := openai.New(settings, &openai.Config{BaseURL: address, Dialect: "compatible"})
	add("`openai`, other dialects", "m", imitator, err)
	claude, err := anthropic.New(settings, &anthropic.Config{BaseURL: address})
	add("`anthropic`, Claude on `vertex`", "claude-sonnet-4-5", claude, err)
	gemini, err := google.New(settings, &google.Config{BaseURL: address})
	add("`google`, Gemini on `vertex`", "gemini-2.5-pro", gemini, err)
	cloud, err := bedrock.New(settings, &bedrock.Config{BaseURL: address, Region: "us-east-1", APIKey: "key"})
	add("`bedrock`", "anthropic.claude-sonnet-4-5-v1:0", cloud, err)
	add("`bedrock`, Nova", "amazon.nova-pro-v1:0", cloud, err)
	return names, vendors, models
}

// schemaTable returns the handling of each feature, according to the vendors' requests.
func schemaTable(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	names, vendors, models := schemaVendors(t, server.URL)
	var out strings.Builder
	fmt.Fprintf(&out, "\n| Feature | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, f := range schemaFeatures {
		fmt.Fprintf(&out, "| %s |", f.name)
		for _, name := range names {
			fmt.Fprintf(&out, " %s |", fateOfSchema(t, vendors[name], models[name], &model.Tool{Name: "x", Parameters: json.RawMessage(f.schema)}))
		}
		out.WriteString("\n")
	}
	for _, id := range []string{"2fa", "-x"} {
		fmt.Fprintf(&out, "| the tool ID `%s` |", id)
		for _, name := range names {
			fate := "sent"
			if change := vendors[name].(model.ToolAdapter).ToolDialect(models[name]).Adapt(&model.Tool{Name: id}); change.Name != "" {
				fate = "`" + change.Name + "`"
			}
			fmt.Fprintf(&out, " %s |", fate)
		}
		out.WriteString("\n")
	}
	return out.String() + "\n"
}

// fateOfSchema returns how a request represents a tool's schema.
func fateOfSchema(t *testing.T, exec model.Executor, upstream string, tool *model.Tool) string {
	t.Helper()
	var body []byte
	ctx := model.WithExchanges(t.Context(), func(x *model.Exchange) { body = x.Body })
	for _, err := range exec.Stream(ctx, &model.Request{Model: upstream, Messages: []model.Message{model.User("x")}, Tools: []model.Tool{*tool}}) {
		_ = err // the server has no paths
	}
	dropped := exec.(model.ToolAdapter).ToolDialect(upstream).Adapt(tool).Dropped
	switch {
	case body == nil:
		t.Fatalf("nothing is sent for %s", tool.Parameters)
		return ""
	case bytes.Contains(body, tool.Parameters):
		return "sent"
	case len(dropped) == 0:
		return "rewritten"
	case bytes.Contains(body, []byte("must also satisfy")):
		return "described"
	default:
		return "left out"
	}
}

// TestTheTableOfSchemasIsFresh keeps the table of schema features and vendors up to date.
func TestTheTableOfSchemasIsFresh(t *testing.T) {
	checkGenerated(t, "guides/providers.md", map[string]string{"schemas": schemaTable(t)})
}
