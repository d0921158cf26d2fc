package surfacekit

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Function is a function that the client runs.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// maxFunctions limits the functions of a request, and perGroup the functions of one group.
const (
	maxFunctions = 128
	perGroup     = 64
)

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// CheckFunctions checks the functions of a request; path returns the path of a function. The error
// is a *service.InvalidError.
func CheckFunctions(list []Function, path func(i int) string) error {
	if len(list) > maxFunctions {
		return &service.InvalidError{Field: "tools", Problem: fmt.Sprintf("has %d elements; %d are allowed", len(list), maxFunctions)}
	}
	seen := make(map[string]bool, len(list))
	for i := range list {
		name, field := list[i].Name, path(i)+".name"
		if !functionName.MatchString(name) {
			return &service.InvalidError{Field: field, Problem: fmt.Sprintf("%q must be 1 to 64 letters, digits, '_' or '-'", clip.Text(name))}
		}
		if seen[name] {
			return &service.InvalidError{Field: field, Problem: fmt.Sprintf("%q is used twice", name)}
		}
		seen[name] = true
		if raw := list[i].Parameters; len(raw) > 0 && string(raw) != "null" {
			if problem := CheckSchema(raw, true); problem != "" {
				return &service.InvalidError{Field: path(i) + ".parameters", Problem: problem}
			}
		}
	}
	return nil
}

// CheckSchema returns the problem with a client's JSON Schema, or "". The values of parameters are
// objects.
func CheckSchema(raw json.RawMessage, parameters bool) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return "must be a JSON Schema written as an object"
	}
	if typ, has := fields["type"]; parameters && has && string(typ) != `"object"` {
		return fmt.Sprintf("has the type %s, but must have \"object\"", clip.Text(string(typ)))
	}
	if _, err := schema.Compile(raw); err != nil {
		return "is not a valid JSON Schema: " + err.Error()
	}
	return ""
}

// Brought is what a client adds to an agent for one turn.
type Brought struct {
	// Surface is the name of the surface.
	Surface string
	// Instructions are added to the prompt of the agent.
	Instructions string
	// Functions are the tools that the client runs.
	Functions []Function
	// CutOff reports an answer that reaches the output limit instead of continuing it.
	CutOff bool
}

// Ephemeral returns the agent of a tenant with the client's additions; nil without any. The
// error is a *service.InvalidError for a function named like a tool of the agent.
func (b *Brought) Ephemeral(ctx context.Context, s *service.Service, tenant string, agent *spec.Agent) (*service.Ephemeral, error) {
	if len(b.Functions) == 0 && b.Instructions == "" && !b.CutOff {
		return nil, nil //nolint:nilnil // nothing is added
	}
	effective, _ := s.SetFor(ctx, tenant).Defaults.Apply(agent)
	brought := effective.Clone()
	if b.Instructions != "" {
		brought.SystemPrompt = spec.Prompt(strings.TrimPrefix(string(brought.SystemPrompt)+"\n\n"+string(spec.QuotePrompt(b.Instructions)), "\n\n"))
	}
	if b.CutOff {
		brought.MaxContinuationRetries = new(int)
	}
	list, err := b.functionTools()
	if err != nil || len(list) == 0 {
		return &service.Ephemeral{Agent: *brought}, err
	}
	own, err := s.ToolsOf(ctx, tenant, brought)
	if err != nil {
		return nil, err
	}
	for i := range b.Functions {
		name := b.Functions[i].Name
		if slices.ContainsFunc(own, func(c resolve.ToolChoice) bool { return c.ID == name && !isReplaceable(&c) }) {
			return nil, &service.InvalidError{Field: "tools", Problem: fmt.Sprintf("the agent already has a tool %q", clip.Text(name))}
		}
		if brought.AllowedTools != nil || brought.AllowedToolPatterns != nil {
			brought.AllowedTools = append(slices.Clip(brought.AllowedTools), name)
		}
	}
	return &service.Ephemeral{Agent: *brought, Tools: list}, nil
}

// isReplaceable reports whether a client's function may take the ID of a tool: of a global
// one that the agent's catalog excludes.
func isReplaceable(c *resolve.ToolChoice) bool {
	return c.Source.Kind == toolset.SourceGlobal && !c.Rule.Visible
}

// AddTo adds b to a turn of a session, with the members of variables that the agent declares. The
// error is a *service.InvalidError for anything that cannot be added.
func (b *Brought) AddTo(ctx context.Context, s *service.Service, session *service.Session, turn *service.CreateTurn, variables json.RawMessage) error {
	set := s.SetFor(ctx, session.Owner.Tenant)
	current, err := s.CurrentAgent(ctx, session, turn.AgentID)
	if err != nil {
		return err
	}
	agent, ok := set.Agent(current)
	if !ok {
		if agent, ok = set.Agent(turn.AgentID); !ok {
			return nil // the service says so
		}
	}
	declared := agent.DeclaredVariables()
	turn.Variables = pickVariables(declared.Names(), variables)
	if !agent.UsesTools() {
		return b.checkRemote(agent, turn)
	}
	turn.Ephemeral, err = b.Ephemeral(ctx, s, session.Owner.Tenant, agent)
	return err
}

// checkRemote checks the additions to a remote agent, which receives instructions as a message. The
// error is a *service.InvalidError.
func (b *Brought) checkRemote(agent *spec.Agent, turn *service.CreateTurn) error {
	if len(b.Functions) > 0 {
		return &service.InvalidError{Field: "tools", Problem: fmt.Sprintf("agent %s runs elsewhere, which alone decides about its tools", agent.ID)}
	}
	if b.Instructions != "" {
		turn.Input = append([]model.Message{model.System(b.Instructions)}, turn.Input...)
	}
	return nil
}

// functionTools returns the functions as tools of a turn, in the form that agentruns.TurnTools
// reads.
func (b *Brought) functionTools() ([]service.EphemeralTool, error) {
	const kind = "mcp_local"
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	}
	var made []service.EphemeralTool
	for first := 0; first < len(b.Functions); first += perGroup {
		var group []tool
		for _, f := range b.Functions[first:min(first+perGroup, len(b.Functions))] {
			group = append(group, tool{f.Name, f.Description, f.Parameters})
		}
		config, err := json.Marshal(map[string]any{"kind": kind, "name": fmt.Sprintf("%s_%d", b.Surface, first), "tools": group})
		if err != nil {
			return nil, err
		}
		made = append(made, service.EphemeralTool{Kind: kind, Config: config})
	}
	return made, nil
}

// pickVariables returns the members of an object that the agent declares as variables.
func pickVariables(declared []string, object json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if len(declared) == 0 || json.Unmarshal(object, &members) != nil {
		return nil
	}
	for name := range members {
		if !slices.Contains(declared, name) {
			delete(members, name)
		}
	}
	if len(members) == 0 {
		return nil
	}
	picked, err := json.Marshal(members)
	if err != nil {
		return nil // not reached: members of a JSON object
	}
	return picked
}
