package docs_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/access"
	"github.com/agentruntime/agentruntime/server/openai"
)

// kinds returns the kinds that the binary's configuration may name.
func kinds() config.Kinds {
	components := shipped.Components()
	return components.ConfigKinds()
}

const schemaFile = "runtime.schema.json"

// TestSchema keeps docs/runtime.schema.json identical to the "runtime schema" output.
func TestSchema(t *testing.T) {
	printed, err := exec.CommandContext(t.Context(), program, "schema").Output()
	if err != nil {
		t.Fatal(err)
	}
	printed = append(bytes.TrimSpace(printed), '\n')
	have, err := os.ReadFile(schemaFile)
	if err == nil && bytes.Equal(have, printed) {
		return
	}
	if !*update {
		t.Fatalf("docs/%s is stale (%v); run: go test ./docs -update", schemaFile, err)
	}
	if err := os.WriteFile(schemaFile, printed, 0o644); err != nil { //nolint:gosec // documentation
		t.Fatal(err)
	}
}

// TestGenerated keeps the generated parts of pages up to date.
func TestGenerated(t *testing.T) {
	for file, regions := range map[string]map[string]string{
		"reference/configuration.md": {"reference": referenceTable(t), "diagnostics": diagnostics()},
		"guides/overlays.md":         {"agent-fields": agentFields()},
		"index.md":                   {"components": componentTable(t)},
		"protocols/clients.md":       {"openai-chat": parameters(openai.ChatParameters()), "openai-responses": parameters(openai.ResponseParameters())},
	} {
		checkGenerated(t, file, regions)
	}
}

func checkGenerated(t *testing.T, file string, regions map[string]string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, fresh := range regions {
		begin, end := fmt.Sprintf("<!-- generated: %s -->\n", name), "<!-- end generated -->"
		i := strings.Index(text, begin)
		if i < 0 {
			t.Errorf("docs/%s has no region %s", file, name)
			continue
		}
		i += len(begin)
		j := strings.Index(text[i:], end)
		if j < 0 {
			t.Fatalf("docs/%s: the region %s has no end", file, name)
		}
		if text[i:i+j] == fresh {
			continue
		}
		if !*update {
			t.Errorf("the region %s of docs/%s is stale; run: go test ./docs -update", name, file)
		}
		text = text[:i] + fresh + text[i+j:]
	}
	if *update && text != string(data) {
		if err := os.WriteFile(filepath.Clean(file), []byte(text), 0o644); err != nil { //nolint:gosec // documentation
			t.Fatal(err)
		}
	}
}

// escapeTags escapes text outside of code that looks like a tag.
func escapeTags(line string) string {
	parts := strings.Split(line, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], "<", "&lt;")
	}
	return strings.Join(parts, "`")
}

// surfacePages are the pages that describe the server's protocols.
var surfacePages = map[string]string{
	"a2a": "protocols/a2a.md", "agent_runs": "protocols/agent-runs.md", "sessions": "protocols/sessions.md", "agents": "protocols/agents-api.md", "native": "guides/server.md",
	"admin": "protocols/configuration-api.md", "workflows": "guides/workflows.md", "gestalt": "protocols/gestalt.md", "openai": "protocols/clients.md#openai", "agui": "protocols/clients.md#ag-ui", "aisdk": "protocols/clients.md#ai-sdk", "mcp": "guides/mcp.md", "console": "guides/console.md",
}

// componentTable lists the program's components.
func componentTable(t *testing.T) string {
	components := shipped.Components()
	var rows []string
	add := func(kind string, names ...string) {
		rows = append(rows, fmt.Sprintf("| %s | %s |\n", kind, strings.Join(names, ", ")))
	}
	link := func(name, page string) string { return fmt.Sprintf("[`%s`](%s)", name, page) }
	var list []string
	for _, k := range components.Kinds.Providers {
		list = append(list, link(k.Type, "reference/providers.md#provider-type-"+k.Type))
	}
	add("Model providers", list...)
	list = nil
	for _, k := range components.Kinds.Tools {
		list = append(list, link(k.Type, "reference/tools.md#tool-type-"+k.Type))
	}
	add("Tool kinds", list...)
	list = nil
	for _, k := range components.Kinds.Plugins {
		list = append(list, link(k.Type, "reference/plugins.md#plugin-type-"+k.Type))
	}
	for _, p := range components.Plugins {
		list = append(list, "`"+p.ID+"`")
	}
	add("Plugins", list...)
	list = nil
	for i := range components.Stores {
		list = append(list, "`"+components.Stores[i].Name+"`")
	}
	add("Stores", list...)
	list = nil
	for i := range components.Surfaces {
		name := components.Surfaces[i].Name
		page, ok := surfacePages[strings.TrimSuffix(name, ":push")]
		if !ok {
			t.Errorf("name the page of the surface %s in surfacePages", name)
		}
		list = append(list, link(name, page))
	}
	add("Surfaces", list...)
	return "\n| | |\n|---|---|\n" + strings.Join(rows, "") + "\n"
}

// parameters returns a table of the handling of a protocol's parameters.
func parameters(list []openai.Parameter) string {
	var out strings.Builder
	out.WriteString("\n| Parameter | | |\n|---|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", p.Name, p.Use, p.Note)
	}
	return out.String() + "| others | ignored | proxies add their own |\n\n"
}

// agentFields returns the table of the effects of changes to an agent's fields.
func agentFields() string {
	var out strings.Builder
	out.WriteString("\n| Field | Class | Widened if | Overlay of a tenant |\n|---|---|---|---|\n")
	for _, f := range access.Fields() {
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", f.Path, f.Class, cmp.Or(f.Widens, "–"), f.Overlay)
	}
	return out.String() + "\n"
}

// diagnostics is the table of all codes.
func diagnostics() string {
	var out strings.Builder
	out.WriteString("\n| Code | Severity | When |\n|---|---|---|\n")
	for _, info := range diag.Codes() {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", info.Code, info.Severity, strings.ReplaceAll(info.Summary, "|", "\\|"))
	}
	return out.String() + "\n"
}
