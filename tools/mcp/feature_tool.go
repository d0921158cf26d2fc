package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// featureTool gives agents the resources or the prompts of a server.
type featureTool struct {
	server     *server
	descriptor tools.Descriptor
	// send performs an action.
	send func(ctx context.Context, session *session, in *featureInput, round *round) (*reply, error)
}

var _ tools.Tool = (*featureTool)(nil)

// featureInput are the arguments of a featureTool.
type featureInput struct {
	Action    string            `json:"action"`
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
	Cursor    string            `json:"cursor"`
}

const (
	resourceSchema = `{"type":"object","properties":{"action":{"type":"string","enum":["list","templates","read","wait"],"description":"list lists the resources, templates the patterns of further URIs, read reads one. wait waits until the resource changes and then reads it; without uri, until the list changes."},` +
		`"uri":{"type":"string","description":"The URI to read or to wait for."},"cursor":{"type":"string","description":"The cursor of the next page of a list."}},"required":["action"],"additionalProperties":false}`
	promptSchema = `{"type":"object","properties":{"action":{"type":"string","enum":["list","get"],"description":"list lists the prompts, get returns the messages of one."},` +
		`"name":{"type":"string","description":"The name of the prompt."},"arguments":{"type":"object","additionalProperties":{"type":"string"},"description":"The arguments of the prompt."},` +
		`"cursor":{"type":"string","description":"The cursor of the next page of a list."}},"required":["action"],"additionalProperties":false}`
)

// newFeatureTool returns the tool of a feature.
func (s *server) newFeatureTool(feature string) *featureTool {
	t := &featureTool{server: s, descriptor: tools.Descriptor{
		Description: fmt.Sprintf("Lists and reads the resources of the MCP server %s.", s.id), Parameters: json.RawMessage(resourceSchema),
		Effect: tools.Read, Timeout: s.config.callTimeout(), Serial: s.config.Serial,
	}}
	t.send = t.useResources
	if feature == featurePrompts {
		t.send, t.descriptor.Parameters = usePrompts, json.RawMessage(promptSchema)
		t.descriptor.Description = fmt.Sprintf("Lists the prompts of the MCP server %s, and returns the instructions of one.", s.id)
	}
	return t
}

// Descriptor describes the tool.
func (t *featureTool) Descriptor() tools.Descriptor { return t.descriptor }

// Call performs an action.
func (t *featureTool) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	in := new(featureInput)
	if err := json.Unmarshal(callArguments(call), in); err != nil {
		return tools.ErrorResult("tool_input_invalid: the arguments cannot be read"), nil
	}
	switch {
	case in.Action == "read" && in.URI == "":
		return tools.ErrorResult("tool_input_invalid: uri is required to read"), nil
	case in.Action == "get" && in.Name == "":
		return tools.ErrorResult("tool_input_invalid: name is required to get"), nil
	}
	return t.server.runExchange(ctx, call, &request{name: call.Tool, effect: tools.Read, send: func(ctx context.Context, session *session, next *round) (*reply, error) {
		return t.send(ctx, session, in, next)
	}})
}

// listing is an entry of a list of resources or prompts, as the model reads it.
type listing struct {
	URI         string            `json:"uri,omitempty"`
	Template    string            `json:"uri_template,omitempty"`
	Name        string            `json:"name,omitempty"`
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	MIMEType    string            `json:"mime_type,omitempty"`
	Size        int64             `json:"size,omitempty"`
	Arguments   []listingArgument `json:"arguments,omitempty"`
}

type listingArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// clean bounds the texts of an entry.
func (l *listing) clean() {
	l.Name, l.Title, l.MIMEType = clip.Visible(l.Name, maxName), clip.Visible(l.Title, maxName), clip.Visible(l.MIMEType, maxName)
	l.Description = clip.Visible(l.Description, maxDescription)
}

// listReply returns a page of a list, one entry per line.
func listReply(entries []listing, next string) (*reply, error) {
	var text strings.Builder
	for i := range entries {
		entries[i].clean()
		line, err := json.Marshal(&entries[i])
		if err != nil {
			return nil, err
		}
		text.Write(line)
		text.WriteByte('\n')
	}
	if next != "" {
		fmt.Fprintf(&text, "[more: cursor %q]\n", next)
	}
	return &reply{result: tools.TextResult(cmp.Or(text.String(), "[nothing]"))}, nil
}

// withoutNil returns a list without the elements that are null in a server's message.
func withoutNil[T any](list []*T) []*T {
	return slices.DeleteFunc(slices.Clone(list), func(one *T) bool { return one == nil })
}

// useResources lists or reads resources, or waits for their changes.
func (t *featureTool) useResources(ctx context.Context, session *session, in *featureInput, next *round) (*reply, error) {
	action := in.Action
	if action == "wait" && next.responses == nil && next.state == "" {
		limit := t.server.config.callTimeout() * 3 / 4 // the rest is for reading
		changed, err := session.awaitChange(ctx, in.URI, limit)
		if errors.Is(err, errNoChanges) {
			return &reply{result: tools.ErrorResult(err.Error())}, nil
		}
		if err != nil {
			return nil, err
		}
		if !changed {
			return &reply{result: tools.TextResult(fmt.Sprintf("[no change within %s]", limit))}, nil
		}
		if in.URI == "" {
			action = "list"
		}
	}
	switch action {
	case "list":
		page, err := session.client.ListResources(ctx, &mcp.ListResourcesParams{Meta: next.meta, Cursor: in.Cursor})
		if err != nil {
			return nil, err
		}
		var list []listing
		for _, r := range withoutNil(page.Resources) {
			list = append(list, listing{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Size: r.Size})
		}
		return listReply(list, page.NextCursor)
	case "templates":
		page, err := session.client.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Meta: next.meta, Cursor: in.Cursor})
		if err != nil {
			return nil, err
		}
		var list []listing
		for _, r := range withoutNil(page.ResourceTemplates) {
			list = append(list, listing{Template: r.URITemplate, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType})
		}
		return listReply(list, page.NextCursor)
	}
	read, err := session.client.ReadResource(ctx, &mcp.ReadResourceParams{Meta: next.meta, URI: in.URI, InputResponses: next.responses, RequestState: next.state})
	if err != nil {
		return nil, err
	}
	var parts []model.Part
	for _, c := range withoutNil(read.Contents) {
		parts = append(parts, resourceParts(c)...)
	}
	if len(parts) == 0 {
		parts = []model.Part{model.Text("[no contents]")}
	}
	return &reply{result: tools.Result{Content: parts}, inputs: read.InputRequests, state: read.RequestState}, nil
}

// usePrompts lists prompts or returns one.
func usePrompts(ctx context.Context, session *session, in *featureInput, next *round) (*reply, error) {
	if in.Action == "list" {
		page, err := session.client.ListPrompts(ctx, &mcp.ListPromptsParams{Meta: next.meta, Cursor: in.Cursor})
		if err != nil {
			return nil, err
		}
		var list []listing
		for _, p := range withoutNil(page.Prompts) {
			entry := listing{Name: p.Name, Title: p.Title, Description: p.Description}
			for _, a := range withoutNil(p.Arguments) {
				entry.Arguments = append(entry.Arguments, listingArgument{clip.Visible(a.Name, maxName), clip.Visible(a.Description, maxDescription), a.Required})
			}
			list = append(list, entry)
		}
		return listReply(list, page.NextCursor)
	}
	got, err := session.client.GetPrompt(ctx, &mcp.GetPromptParams{
		Meta: next.meta, Name: in.Name, Arguments: in.Arguments, InputResponses: next.responses, RequestState: next.state,
	})
	if err != nil {
		return nil, err
	}
	var parts []model.Part
	for _, m := range withoutNil(got.Messages) {
		if m.Content == nil {
			continue
		}
		parts = append(parts, model.Text("["+clip.Visible(string(m.Role), maxName)+"]"))
		parts = append(parts, contentParts([]mcp.Content{m.Content})...)
	}
	if len(parts) == 0 {
		parts = []model.Part{model.Text("[no messages]")}
	}
	return &reply{result: tools.Result{Content: parts}, inputs: got.InputRequests, state: got.RequestState}, nil
}
