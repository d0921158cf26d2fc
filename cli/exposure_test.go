package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exposure defines who sees the fields of a class.
type exposure struct {
	class string
	// fields matches the fields of the class.
	fields string
	// seen has a letter for each of exposureColumns: y for yes, o for fields of the
	// caller's own agents, n for no.
	seen string
}

var exposureColumns = []string{
	"no key", "runs", "runs, some agents", "runs, other tenant", "metrics:read",
	"config:read, some agents", "config:read:own", "config:read", "the log", "telemetry", "the peer",
}

// exposures lists all field classes.
var exposures = []exposure{
	{"The token of an agent elsewhere", `agents\.borne\.endpoint\.auth\.token`, "nnnnnnnnnny"},
	{"Values in `env`, `headers`, `params` and fields for keys; secret variables of tenants", `.*\.(env|headers|params)\..*|.*\.(api_key|token|client_secret|grant_key|secret|previous_secret|encryption_key|identity_header|access_key_id|secret_access_key|session_token)|agents\.keyed\.endpoint\.auth\.key|server\.keys\.0\.key|overlay\.variables\.SECRET`, "nnnnnnnnnnn"},
	{"Descriptions and skills of agents; `organization`, `public_url`, `jwt.issuer`", `agents\.(clerk|other|id-agent)\.(description|a2a\..*)|server\.(a2a\.organization.*|public_url|jwt\.issuer)`, "yyyyyyyynyn"},
	{"IDs of agents", `agents\.id`, "yyyyyyyyyyn"},
	{"Descriptions of agents elsewhere", `agents\.(far|keyed|borne)\.description`, "nyoynonynyn"},
	{"Addresses of agents elsewhere", `agents\.(far|keyed|borne)\.endpoint\.base_url`, "nyoynoyyyny"},
	{"Names of session hooks, of sessions of one's own", `agents\..*\.session_start\.0\.id`, "nyoynoyynnn"},
	{"Prompts, hook commands and output schemas", `agents\..*\.(system_prompt|session_start\.0\.command\..*|output_schema\..*)`, "nnnnnonynnn"},
	{"Names of the variables of agents, as arguments of MCP tools", `(patches\.)?agents\.(clerk|other|id-agent)\.variables\.(name|patched)`, "nyoynoyynnn"},
	{"Other settings of agents, and what they inherit", `agents\..*\.((ex|al)[a-z]*d_tool.*|sections\..*|stop_conditions\..*|variables\..*)|(defaults|patches)\..*`, "nnnnnoyyynn"},
	{"Credentials of endpoints that are no secrets: client IDs, scopes, token addresses", `agents\.(far|keyed)\.endpoint\.auth\.(client_id|scopes\..*|name|token_url)`, "nnnnnnnynnn"},
	{"Models and pools", `models\..*|model_pools\.id`, "nyyyyyyyyyn"},
	{"IDs and addresses of providers of models, in errors of turns", `providers\.(id|id-openai\.base_url)`, "nynynnyyynn"},
	{"Names of omitted fields of requests", `providers\..*\.request\.omit\..*`, "nnnnnnnyynn"},
	{"Other settings of providers of models", `providers\..*\.(base_url|organization|project|entra_id\..*|credentials\..*|request\..*)`, "nnnnnnnynnn"},
	{"IDs of tools", `tools\.id`, "nnnnnyyyynn"},
	{"Tools", `tools\..*`, "nnnnnnnyynn"},
	{"Plugins, agent providers and remote sources", `(plugins|agent_providers|remote_agents)\..*`, "nnnnnnnyynn"},
	{"IDs of workflows, as their owner", `workflows\.id`, "nyynnnnyynn"},
	{"Workflows, as their owner", `workflows\.(id-(flow|older|call)\.(description|events|schedules|steps|target)(\..*)?)`, "nyynnnnynnn"},
	{"Webhooks of workflows", `workflows\..*\.webhooks\.0\.(id|type)`, "nnnnnnnynnn"},
	{"`tenants.may` and defaults of variables", `tenants\.(may\..*|variables\..*\.default)`, "nnnnnnnynnn"},
	{"Descriptions of variables of tenants, and what the tenant has set", `tenants\.variables\..*\.description|overlay\.variables\.WORD`, "nnnnnnyynnn"},
	{"Overlays: IDs of agents", `overlay\.document\.agents\.id`, "nynnynyyyyn"},
	{"Overlays: descriptions of agents", `overlay\.document\..*\.(id-own|clerk)\.description`, "nynnnnyynyn"},
	{"Overlays: all else", `overlay\.document\..*`, "nnnnnyyynnn"},
	{"Prompts and resources of the MCP server", `server\.mcp_(prompts|resources)\..*`, "nyyynnnnnnn"},
	{"IDs of schedules", `schedules\.id`, "nnnnnnnnynn"},
	{"`server`, `store`, `schedules`, `workspaces`", `server\..*|schedules\..*|workspaces\..*`, "nnnnnnnnnnn"},
}

// ownFields matches the fields of the agents that keys for some agents may use here.
var ownFields = regexp.MustCompile(`^agents\.(other|borne)\.`)

// classOf returns the index of a field's class, or -1.
func classOf(field string) int {
	return slices.IndexFunc(exposures, func(e exposure) bool { return regexp.MustCompile(`^(?:` + e.fields + `)$`).MatchString(field) })
}

// checkExposure compares the observed access to each field with the table.
func checkExposure(t *testing.T, fields []string, seen map[string]map[string]bool) {
	t.Helper()
	witnessed := map[string]bool{}
	for _, field := range fields {
		at := classOf(field)
		if at < 0 {
			t.Errorf("%s is in no class: say who may see it", field)
			continue
		}
		e := exposures[at]
		for i, column := range exposureColumns {
			if !seen[field][column] {
				continue
			}
			witnessed[e.class+column] = true
			if e.seen[i] == 'n' || e.seen[i] == 'o' && !ownFields.MatchString(field) {
				t.Errorf("%s (%s) is seen by %s", field, e.class, column)
			}
		}
	}
	for _, e := range exposures {
		for i, column := range exposureColumns {
			if e.seen[i] != 'n' && !witnessed[e.class+column] {
				t.Errorf("the table says that %s sees %s, and it sees none", column, e.class)
			}
		}
	}
}

// checkExposurePage compares the table with docs/guides/server.md; -update writes it.
func checkExposurePage(t *testing.T) {
	t.Helper()
	var table strings.Builder
	fmt.Fprintf(&table, "\n| Fields | %s |\n|---|%s\n", strings.Join(exposureColumns, " | "), strings.Repeat("---|", len(exposureColumns)))
	for _, e := range exposures {
		cells := strings.NewReplacer("y", " yes |", "o", " its own |", "n", " – |").Replace(e.seen)
		fmt.Fprintf(&table, "| %s |%s\n", e.class, cells)
	}
	const file, begin, end = "../docs/guides/server.md", "<!-- generated: exposure -->\n", "\n<!-- end generated -->"
	page := readAll(t, file)
	before, rest, _ := strings.Cut(page, begin)
	_, after, found := strings.Cut(rest, end)
	fresh := before + begin + table.String() + end + after
	switch {
	case !found:
		t.Error("docs/guides/server.md has no region exposure")
	case fresh == page:
	case !*update:
		t.Error("the region exposure of docs/guides/server.md is stale; run: go test ./cli -run TestWhoSeesWhichField -update")
	default:
		if err := os.WriteFile(file, []byte(fresh), 0o644); err != nil { //nolint:gosec // documentation
			t.Fatal(err)
		}
	}
}
