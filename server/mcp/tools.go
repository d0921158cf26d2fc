package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// agentTool is the only tool registered with the SDK. replaceTools directs the calls of all
	// agents to it, and clients never see it.
	agentTool = "agent"
	// toolPage is the number of tools on a page of the list.
	toolPage = 200
	// maxToolName limits a tool name, in bytes.
	maxToolName = 128
)

// view is the part of the configuration that a caller may see.
type view struct {
	caller service.Caller
	// only is the only agent, named by the path; empty means all.
	only string
	set  *registry.Set
}

// newView returns the view of a request's sender. Over stdio it depends on the context.
func (s *Surface) newView(ctx context.Context, extra *mcp.RequestExtra) (*view, error) {
	v := &view{}
	if u := userOf(extra); u != nil {
		v.caller, v.only = u.caller, u.only
	} else if caller, ok := ctx.Value(localKey{}).(service.Caller); ok {
		v.caller = caller
	} else {
		return nil, errInternal
	}
	v.set = s.settings.Service.SetFor(ctx, v.caller.Tenant)
	return v, nil
}

// listTools sets a page of the tools, beginning after the tool that the cursor names.
func (v *view) listTools(into *mcp.ListToolsResult, cursor string) error {
	into.Tools, into.NextCursor = []*mcp.Tool{}, ""
	skip := cursor != ""
	for id, agent := range service.NewCatalog(v.set, v.caller).Agents() {
		name := toolName(id)
		switch {
		case v.only != "" && id != v.only:
		case skip:
			skip = name != cursor
		case len(into.Tools) == toolPage:
			into.NextCursor = into.Tools[toolPage-1].Name
			return nil
		default:
			into.Tools = append(into.Tools, v.describeTool(id, name, agent))
		}
	}
	if skip {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid cursor"}
	}
	return nil
}

// findTool returns a tool's agent if the caller may use it.
func (v *view) findTool(name string) (id string, ok bool) {
	catalog := service.NewCatalog(v.set, v.caller)
	if _, err := catalog.Agent(name); err == nil && toolName(name) == name {
		id = name
	} else {
		for other := range catalog.Agents() {
			if toolName(other) == name {
				id = other
				break
			}
		}
	}
	return id, id != "" && (v.only == "" || id == v.only)
}

var notInToolNames = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// toolName returns the tool of an agent. An id that is not a valid name gets a suffix, so
// that different agents have different tools.
func toolName(id string) string {
	name := notInToolNames.ReplaceAllString(id, "_")
	if name == id && len(name) <= maxToolName {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxToolName-len(suffix))] + suffix
}

// describeTool returns the tool of an agent.
func (v *view) describeTool(id, name string, agent *spec.Agent) *mcp.Tool {
	effective, _ := v.set.Defaults.Apply(agent)
	tool := &mcp.Tool{
		Name: name, Title: id, Description: cmp.Or(agent.Description, "The agent "+id+"."), InputSchema: inputSchema(effective),
		Annotations: &mcp.ToolAnnotations{Title: id, OpenWorldHint: new(true)},
	}
	if out := outputSchema(effective); out != nil {
		tool.OutputSchema = out
	}
	return tool
}

// cachePrivately tells clients that responses depend on the caller.
func cachePrivately(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" }

// addPrompts adds the prompts of the configuration.
func (s *Surface) addPrompts(to *mcp.Server) {
	for _, p := range s.settings.Prompts {
		made := &mcp.Prompt{Name: p.Name, Description: p.Description}
		for _, a := range p.Arguments {
			made.Arguments = append(made.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		to.AddPrompt(made, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, err := fillPrompt(&p, req.Params.Arguments)
			if err != nil {
				return nil, err
			}
			return &mcp.GetPromptResult{Description: p.Description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
		})
	}
}

// fillPrompt returns the text of a prompt with its arguments.
func fillPrompt(p *settings.MCPPrompt, arguments map[string]string) (string, error) {
	var pairs []string
	for _, a := range p.Arguments {
		value, given := arguments[a.Name]
		if !given && a.Required {
			return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the argument %q is required", a.Name)}
		}
		pairs = append(pairs, "{{"+a.Name+"}}", value)
	}
	for name := range arguments {
		if !slices.ContainsFunc(p.Arguments, func(a settings.MCPArgument) bool { return a.Name == name }) {
			return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown argument %q", clip.Text(name))}
		}
	}
	return strings.NewReplacer(pairs...).Replace(p.Text), nil
}

// addResources adds the resources of the configuration.
func (s *Surface) addResources(to *mcp.Server) {
	for _, r := range s.settings.Resources {
		made := &mcp.Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType, Size: int64(len(r.Text))}
		to.AddResource(made, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.URI, MIMEType: r.MIMEType, Text: r.Text}}}, nil
		})
	}
}
