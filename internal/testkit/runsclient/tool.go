package runsclient

import (
	"context"
	"encoding/json"
	"fmt"
)

// Tool is a tool of a spec: its description for the server and, if the client runs it, its
// implementation.
type Tool struct {
	Ref map[string]any
	// Call runs the tool, given the client's name for it.
	Call func(ctx context.Context, name string, args map[string]any) (string, error)
}

// MarshalJSON returns the description for the server.
func (t Tool) MarshalJSON() ([]byte, error) { return json.Marshal(t.Ref) }

// Local is a function of the client. Without parameters it accepts an object.
func Local(name string, parameters map[string]any, run func(ctx context.Context, args map[string]any) (string, error)) Tool {
	ref := map[string]any{"kind": "local", "name": name, "description": "A tool of the client."}
	if parameters != nil {
		ref["parameters"] = parameters
	}
	return Tool{Ref: ref, Call: func(ctx context.Context, _ string, args map[string]any) (string, error) { return run(ctx, args) }}
}

// LocalAgent is an agent that only the client can reach.
func LocalAgent(name string, card map[string]any, ask func(ctx context.Context, message string) (string, error)) Tool {
	return Tool{
		Ref: map[string]any{"kind": "a2a_local", "name": name, "agentCard": card},
		Call: func(ctx context.Context, _ string, args map[string]any) (string, error) {
			message, ok := args["message"].(string)
			if !ok {
				return "", fmt.Errorf("the arguments are %v", args)
			}
			return ask(ctx, message)
		},
	}
}

// LocalServer is an MCP server that only the client can reach.
func LocalServer(name string, tools []map[string]any, run func(ctx context.Context, tool string, args map[string]any) (string, error)) Tool {
	return Tool{Ref: map[string]any{"kind": "mcp_local", "name": name, "tools": tools, "serverInfo": map[string]any{"name": name, "version": "1"}}, Call: run}
}

// callTool executes the call in an event with its tool.
func callTool(ctx context.Context, e Event, tools []Tool) (string, error) {
	kind, name := e.Text("kind"), e.Text("name")
	wanted := name
	if kind == "mcp_local" {
		wanted, name = e.Text("mcpServer"), e.Text("mcpToolName")
	}
	for _, t := range tools {
		if t.Ref["kind"] == kind && t.Ref["name"] == wanted && t.Call != nil {
			args, _ := e.Payload["args"].(map[string]any)
			return t.Call(ctx, name, args)
		}
	}
	return "", fmt.Errorf("no %s is called %s", kind, wanted)
}
