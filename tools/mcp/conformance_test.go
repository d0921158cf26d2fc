package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// scenarioVariable makes the test binary the client of a scenario of the conformance suite.
const scenarioVariable = "MCP_CONFORMANCE_SCENARIO"

// clientScenarios are the scenarios of the suite for clients, by version. Those about authorization
// are in authScenarios.
var clientScenarios = map[string][]string{
	"2025-06-18": {"initialize", "tools_call"},
	"2025-11-25": {"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "json-schema-2020-12-preservation"},
	"2026-07-28": {
		"tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
		"json-schema-ref-no-deref", "json-schema-2020-12-preservation",
	},
}

// skippedScenarios are the scenarios that are not run, with the reasons.
var skippedScenarios = map[string]string{
	"sep-2640-client-no-prefetch":           noSkills,
	"sep-2640-client-verify-digest":         noSkills,
	"sep-2640-client-verify-size":           noSkills,
	"sep-2640-client-verify-frontmatter":    noSkills,
	"auth/enterprise-managed-authorization": "it exchanges the ID token of an enterprise's login, which turns do not carry",
	"auth/dpop":                             noDPoP,
	"auth/dpop-nonce":                       noDPoP,
	"auth/wif-jwt-bearer":                   "it needs the token of a cloud workload, which is not supported",
}

const (
	noSkills = "the extension for skills is not supported"
	noDPoP   = "tokens that are bound to a key of the client are not supported"
)

// TestEachScenarioIsRunOrSkippedForAReason compares the lists with the one of the suite.
func TestEachScenarioIsRunOrSkippedForAReason(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../server/mcp/testdata/scenarios.mjs")
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(clientScenarios)
	for version, names := range authScenarios {
		all[version] = slices.Concat(all[version], names)
	}
	runs, _ := json.Marshal(all)
	reasons, _ := json.Marshal(skippedScenarios)
	nodeenv.Install(t, os.DirFS("../../server/mcp")).Run(t, source, "Client", string(runs), string(reasons))
}

func TestConformanceOfTheClient(t *testing.T) {
	t.Parallel()
	suite := nodeenv.Install(t, os.DirFS("../../server/mcp"))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/conformance.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for version, names := range clientScenarios {
		for _, name := range names {
			t.Run(version+" "+name, func(t *testing.T) { suite.Run(t, source, program, version, name) })
		}
	}
}

// actAsClient uses the server of a scenario like an agent does.
func actAsClient(scenario, address string) error {
	if strings.HasPrefix(scenario, "auth/") {
		return authorizeClient(scenario, address)
	}
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	none := ""
	made, err := newTools(tools.Settings{ID: "suite", Dir: dir}, &config{
		URL: address, Prefix: &none, Catalog: filepath.Join(dir, "c.json"), Features: []string{featureResources, featurePrompts, featureElicitation},
	})
	if err != nil {
		return err
	}
	c := &suiteClient{server: made.(*server), scenario: scenario}
	defer func() { _ = c.server.Close() }()
	if err := c.server.Refresh(context.Background()); err != nil {
		return err
	}
	return c.play()
}

// suiteClient plays a scenario.
type suiteClient struct {
	server   *server
	scenario string
}

// play calls the tools that a scenario is about.
func (c *suiteClient) play() error {
	switch c.scenario {
	case "tools_call":
		return c.call("add_numbers", `{"a":5,"b":3}`)
	case "elicitation-sep1034-client-defaults":
		return c.call("test_client_elicitation_defaults", `{}`)
	case "sse-retry":
		return c.call("test_reconnection", `{}`)
	case "sep-2322-client-request-state":
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			_ = c.call(name, `{}`) // the suite judges
		}
	case "http-custom-headers":
		var given struct {
			ToolCalls []struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given); err != nil {
			return err
		}
		for _, asked := range given.ToolCalls {
			// Null does not fit the schema of the tool, so that no agent sends it.
			var arguments map[string]any
			if err := json.Unmarshal(asked.Arguments, &arguments); err != nil {
				return err
			}
			maps.DeleteFunc(arguments, func(_ string, v any) bool { return v == nil })
			fitting, err := json.Marshal(arguments)
			if err != nil {
				return err
			}
			if err := c.call(asked.Name, string(fitting)); err != nil {
				return err
			}
		}
	case "http-invalid-tool-headers":
		members, _ := c.server.Members()
		for _, m := range members {
			_ = c.call(m.ID, `{"region":"us-west1"}`) // the suite judges
		}
	case "http-standard-headers":
		return c.useAll()
	case "json-schema-2020-12-preservation":
		members, _ := c.server.Members()
		for _, m := range members {
			if m.ID == "json_schema_2020_12_tool" {
				return c.call("json_schema_echo", `{"schema":`+string(m.Tool.Descriptor().Parameters)+`}`)
			}
		}
	}
	return nil
}

// useAll calls the first tool, reads the first resource and gets the first prompt.
func (c *suiteClient) useAll() error {
	members, _ := c.server.Members()
	for _, m := range members {
		if m.ID != "resources" && m.ID != "prompts" {
			_ = c.call(m.ID, `{}`) // the suite judges
			break
		}
	}
	for _, tt := range []struct{ tool, next string }{{"resources", `{"action":"read","uri":%q}`}, {"prompts", `{"action":"get","name":%q}`}} {
		r, err := c.result(tt.tool, `{"action":"list"}`)
		if err != nil {
			return err
		}
		line, _, _ := strings.Cut(model.PartsText(r.Content), "\n")
		var entry listing
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			return err
		}
		name := entry.URI
		if name == "" {
			name = entry.Name
		}
		if err := c.call(tt.tool, fmt.Sprintf(tt.next, name)); err != nil {
			return err
		}
	}
	return nil
}

func (c *suiteClient) call(name, arguments string) error {
	r, err := c.result(name, arguments)
	if err == nil && r.IsError {
		err = fmt.Errorf("%s: %s", name, model.PartsText(r.Content))
	}
	return err
}

// result calls a tool, and accepts what the server asks.
func (c *suiteClient) result(name, arguments string) (tools.Result, error) {
	members, _ := c.server.Members()
	for _, m := range members {
		if m.ID != name {
			continue
		}
		entry, list := toolset.Compile(m.ID, m.Tool, toolset.Source{Kind: toolset.SourceGlobal})
		if list.HasErrors() {
			return tools.Result{}, list.Err()
		}
		call := &tools.Call{ID: "call_1", Tool: m.ID, Arguments: json.RawMessage(arguments), Host: new(host)}
		r := entry.Execute(context.Background(), call)
		for r.Wait != nil {
			call.Resumed = &tools.Resumed{State: r.Wait.State}
			for _, q := range r.Wait.Questions {
				content := json.RawMessage(`{}`)
				if strings.Contains(string(q.ResponseSchema), `"confirmed"`) {
					content = json.RawMessage(`{"confirmed":true}`)
				}
				call.Resumed.Answers = append(call.Resumed.Answers, interaction.Answer{Target: q.ID, Action: interaction.Resume, Result: content})
			}
			r = entry.Execute(context.Background(), call)
		}
		return r, nil
	}
	return tools.Result{}, fmt.Errorf("there is no tool %s", name)
}
