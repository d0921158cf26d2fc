package agentruns

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Kinds of tools in a spec. The server runs the first five kinds; the client runs the kinds
// ending in local.
const (
	kindMantyx   = "mantyx"
	kindPlugin   = "mantyx_plugin"
	kindA2A      = "a2a"
	kindMCP      = "mcp"
	kindA2ALocal = "a2a_local"
	kindMCPLocal = "mcp_local"
)

// The limits of tools.
const (
	maxHeaderValue = 8 << 10
	maxMCPTools    = 64
	maxSkills      = 12
	maxToolID      = 64
)

var (
	refName     = regexp.MustCompile(`^[a-zA-Z0-9_]{1,64}$`)
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	mcpToolName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// toolRef is an element of tools, of any kind; each kind has some of the fields. raw keeps fields
// unknown to the protocol.
type toolRef struct {
	Kind string `json:"kind"`
	// ID is the tool of mantyx.
	ID string `json:"id"`
	// Name is the model's name for the tool or tool server; for mantyx_plugin it has the form
	// @plugin/tool.
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Parameters   json.RawMessage   `json:"parameters"`
	OutputSchema json.RawMessage   `json:"outputSchema"`
	LongRunning  bool              `json:"longRunning"`
	AgentCardURL string            `json:"agentCardUrl"`
	ContextID    string            `json:"contextId"`
	URL          string            `json:"url"`
	Headers      map[string]string `json:"headers"`
	ToolFilter   []string          `json:"toolFilter"`
	AgentCard    json.RawMessage   `json:"agentCard"`
	ServerInfo   json.RawMessage   `json:"serverInfo"`
	Tools        []mcpTool         `json:"tools"`

	raw json.RawMessage
}

// mcpTool is a tool of a server that the client speaks to.
type mcpTool struct {
	Name         string          `json:"name" pattern:"^[a-zA-Z0-9_.-]{1,64}$"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty" jsonschema:"A JSON Schema for the arguments."`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty" jsonschema:"A JSON Schema for the result."`
}

// readToolRefs reads the tools of a spec. No two may get one id.
func readToolRefs(list []json.RawMessage) ([]toolRef, error) {
	refs := make([]toolRef, len(list))
	owners := make(map[string]int)
	for i, raw := range list {
		path := fmt.Sprintf("tools[%d]", i)
		ref, err := readToolRef(raw)
		if err != nil {
			return nil, newInvalid("%s: %v", path, err)
		}
		for _, id := range ref.claimedIDs() {
			if first, taken := owners[id]; taken {
				return nil, newInvalid("%s: the name %q is taken by tools[%d]", path, id, first)
			}
			owners[id] = i
		}
		refs[i] = *ref
	}
	return refs, nil
}

// readToolRef reads one tool. Its error does not name the tool.
func readToolRef(raw json.RawMessage) (*toolRef, error) {
	ref := &toolRef{raw: raw}
	if err := json.Unmarshal(raw, ref); err != nil || isNull(raw) {
		return nil, wrongType(err)
	}
	var err error
	switch ref.Kind {
	case kindMantyx:
		err = checkRequired("id", ref.ID)
	case kindPlugin:
		err = checkRequired("name", ref.Name)
	case kindLocal:
		err = cmp.Or(ref.checkName(), ref.checkClientTools())
	case kindA2A:
		err = cmp.Or(ref.checkName(), checkAddress("agentCardUrl", ref.AgentCardURL), ref.checkHeaders())
	case kindMCP:
		err = cmp.Or(ref.checkName(), checkAddress("url", ref.URL), ref.checkHeaders())
	case kindA2ALocal:
		err = cmp.Or(ref.checkName(), ref.checkCard(), ref.checkClientTools())
	case kindMCPLocal:
		err = cmp.Or(ref.checkName(), ref.checkMCPTools(), ref.checkClientTools())
	case "":
		err = checkRequired("kind", "")
	default:
		err = fmt.Errorf("the kind %q is not known; there are mantyx, mantyx_plugin, local, a2a, a2a_local, mcp and mcp_local", clip.Text(ref.Kind))
	}
	if err != nil {
		return nil, err
	}
	return ref, nil
}

// wrongType returns an error that names the field with a value of the wrong type,
// without the value.
func wrongType(err error) error {
	if wrong, ok := err.(*json.UnmarshalTypeError); ok && wrong.Field != "" { //nolint:errorlint // encoding/json does not wrap it
		return fmt.Errorf("%s must not be a JSON %s", wrong.Field, wrong.Value)
	}
	return fmt.Errorf("not a JSON object")
}

func checkRequired(field, value string) error {
	if value == "" {
		return fmt.Errorf("%s is required", field)
	}
	return nil
}

func (r *toolRef) checkName() error {
	if refName.MatchString(r.Name) {
		return nil
	}
	return fmt.Errorf("name %q is not allowed: 1 to 64 letters, digits or '_'", clip.Text(r.Name))
}

// checkAddress checks an address without repeating it: it may hold a secret.
func checkAddress(field, address string) error {
	if err := checkRequired(field, address); err != nil {
		return err
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("%s must be an http or https URL", field)
	case u.User != nil:
		return fmt.Errorf("%s must not have credentials; use headers", field)
	case strings.Contains(u.Hostname(), "%"): // a zone, which is a network of this machine
		return fmt.Errorf("%s must not have an address with a zone", field)
	case u.Port() != "":
		if _, err := strconv.ParseUint(u.Port(), 10, 16); err != nil {
			return fmt.Errorf("%s must have a port up to 65535", field)
		}
	}
	return nil
}

// checkHeaders checks the headers, whose values it does not repeat.
func (r *toolRef) checkHeaders() error {
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		value := r.Headers[name]
		switch {
		case !headerName.MatchString(name):
			return fmt.Errorf("headers: %q is not a valid header name", clip.Text(name))
		case len(value) > maxHeaderValue:
			return fmt.Errorf("headers.%s has %d bytes; %d are allowed", name, len(value), maxHeaderValue)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return fmt.Errorf("headers.%s has a character that headers cannot have", name)
		case slices.Contains(ownHeaders, strings.ToLower(name)):
			return fmt.Errorf("headers.%s is set by the server itself", name)
		}
	}
	return nil
}

// ownHeaders are set by the protocols, or would change how the rest of a request is read.
var ownHeaders = []string{
	"accept", "connection", "content-length", "content-type", "host", "last-event-id", "mcp-protocol-version", "mcp-session-id",
	"te", "trailer", "transfer-encoding", "upgrade",
}

// agentCard is what of a card the model is told.
type agentCard struct {
	Name        string      `json:"name" minLength:"1"`
	Description string      `json:"description,omitempty"`
	Skills      []cardSkill `json:"skills,omitempty"`
}

type cardSkill struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

func (r *toolRef) checkCard() error {
	var card agentCard
	if err := json.Unmarshal(r.AgentCard, &card); err != nil || isNull(r.AgentCard) {
		return fmt.Errorf("agentCard must be the card of an agent, with name, description and skills")
	}
	return checkRequired("agentCard.name", card.Name)
}

func (r *toolRef) checkMCPTools() error {
	if n := len(r.Tools); n < 1 || n > maxMCPTools {
		return fmt.Errorf("tools has %d elements; 1 to %d are allowed", n, maxMCPTools)
	}
	for i, t := range r.Tools {
		if !mcpToolName.MatchString(t.Name) {
			return fmt.Errorf("tools[%d].name %q is not allowed: 1 to 64 letters, digits, '_', '.' or '-'", i, clip.Text(t.Name))
		}
	}
	var info map[string]json.RawMessage
	if len(r.ServerInfo) > 0 && json.Unmarshal(r.ServerInfo, &info) != nil {
		return fmt.Errorf("serverInfo must be an object")
	}
	return nil
}

// checkClientTools checks that models can be told of the tools that the client
// runs.
func (r *toolRef) checkClientTools() error {
	for _, t := range r.clientTools() {
		if _, found := toolset.Compile(t.id, clienttool.New(t.config), toolset.Source{Kind: toolset.SourceTurn}); found.HasErrors() {
			return fmt.Errorf("%s", found[0].Message)
		}
	}
	return nil
}

// claimedIDs are the ids of the tools that a reference brings along, as far as they
// are known; for a server of tools it is the beginning of theirs.
func (r *toolRef) claimedIDs() []string {
	switch r.Kind {
	case kindMantyx:
		return []string{r.ID}
	case kindMCPLocal:
		ids := make([]string, len(r.Tools))
		for i, t := range r.Tools {
			ids[i] = modelName(t.Name)
		}
		return ids
	default:
		return []string{r.Name}
	}
}

// surePrefix is how much of its beginning the id of a server's tool keeps where it
// has to be shortened.
const surePrefix = 40

// idPrefix is the prefix of the ids of a server's tools.
func (r *toolRef) idPrefix() string {
	whole := r.Name + "_"
	return whole[:min(len(whole), surePrefix)]
}

// modelName returns the name of a client's tool as models take it.
func modelName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// clientTool is a tool that the client runs.
type clientTool struct {
	id     string
	config clienttool.Config
}

// clientTools returns the tools of a reference that the client runs.
func (r *toolRef) clientTools() []clientTool {
	switch r.Kind {
	case kindLocal:
		return []clientTool{{r.Name, clienttool.Config{
			Description: r.Description, Parameters: r.Parameters, Output: r.OutputSchema, LongRunning: r.LongRunning,
			Echo: encodeJSON(localEcho{Kind: r.Kind}),
		}}}
	case kindA2ALocal:
		return []clientTool{{r.Name, clienttool.Config{
			Description: cmp.Or(r.Description, describeCard(r.AgentCard)), Parameters: messageParameters,
			Echo: encodeJSON(localEcho{Kind: r.Kind, AgentCard: r.AgentCard}),
		}}}
	case kindMCPLocal:
		list := make([]clientTool, len(r.Tools))
		for i, t := range r.Tools {
			list[i] = clientTool{modelName(t.Name), clienttool.Config{
				Name: t.Name, Description: t.Description, Parameters: t.InputSchema, Output: t.OutputSchema,
				Echo: encodeJSON(localEcho{Kind: r.Kind, MCPServer: r.Name, MCPToolName: t.Name, MCPServerInfo: r.ServerInfo}),
			}}
		}
		return list
	default:
		return nil
	}
}

// messageParameters are the parameters of a tool that sends a message to an agent.
var messageParameters = json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"What to tell the agent."}},"required":["message"]}`)

// describeCard returns the model's description of an agent with a card.
func describeCard(raw json.RawMessage) string {
	var card agentCard
	if json.Unmarshal(raw, &card) != nil {
		return ""
	}
	var text strings.Builder
	text.WriteString("Delegate a task to " + card.Name)
	if card.Description != "" {
		text.WriteString(": " + card.Description)
	} else {
		text.WriteByte('.')
	}
	for i, skill := range card.Skills {
		if i == maxSkills {
			break
		}
		if i == 0 {
			text.WriteString("\n\nSkills:")
		}
		text.WriteString("\n- " + skill.Name)
		if skill.Description != "" {
			text.WriteString(": " + skill.Description)
		}
	}
	return text.String()
}
