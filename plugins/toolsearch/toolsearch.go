// Package toolsearch is a plugin for agents with many tools: the model gets a tool for searching
// the others, and then the tools that it found. A search only narrows the offered tools: the
// agent's catalog and permission rules apply as without the plugin.
package toolsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/tools"
)

const (
	// PluginID is the registered id of the plugin.
	PluginID = "tool_search"
	// ToolID is the id of the search tool.
	ToolID = "tool_search"
	// SectionKey is the section that the plugin claims.
	SectionKey = "tool_search"
)

// defaultMaxResults is the maximum number of tools that a search finds by default.
const defaultMaxResults = 8

// maxQuery is the maximum length of a search query, in bytes.
const maxQuery = 1024

// config is the section of an agent.
type config struct {
	// MaxResults is the maximum number of tools that one search finds.
	MaxResults int `json:"max_results"`
	// Always are the ids of tools that are offered without a search.
	Always []string `json:"always"`
}

var sectionSchema = json.RawMessage(`{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"max_results": {"type": "integer", "minimum": 1, "maximum": 64, "default": 8},
		"always": {"type": "array", "items": {"type": "string", "minLength": 1}}
	}
}`)

// plugin offers an agent's tools through a search.
type plugin struct{}

var _ plugins.Plugin = plugin{}

// New returns the plugin.
func New() plugins.Plugin { return plugin{} }

// Descriptor describes the plugin.
func (plugin) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{
		Summary:  "Offers a tool that searches the tools of the agent, and those that it found.",
		Sections: []plugins.Section{plugins.NewSection(SectionKey, "Which tools are offered without a search, and how many one search finds.", sectionSchema, decodeConfig)},
	}
}

func decodeConfig(raw json.RawMessage) (config, diag.List) {
	c := config{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			return c, diag.List{diag.New(diag.InvalidPluginConfig, "", "the section cannot be read: %v", err)}
		}
	}
	if c.MaxResults == 0 {
		c.MaxResults = defaultMaxResults
	}
	return c, nil
}

// foundKey has the ids of the tools that the turn has found, in order.
var foundKey = plugins.NewKey[[]string]("tool_search.found", plugins.ScopeRun)

// Register adds the tool, and the hooks that exclude tools not found yet from requests.
func (plugin) Register(r *plugins.Registrar) error {
	c, ok := plugins.Config[config](r, SectionKey)
	if !ok {
		c.MaxResults = defaultMaxResults
	}
	s := &search{config: c}
	r.StateKey(foundKey)
	r.Tool(ToolID, s)
	r.Hook(plugins.Activate, s.noteTools)
	r.Hook(plugins.BeforeInference, s.hideUnfound)
	r.Hook(plugins.AfterToolExecute, noteFound)
	return nil
}

// search is the tool of one resolved agent.
type search struct {
	config

	mu sync.Mutex
	// tools are the tools that requests can offer.
	tools []model.Tool
}

var _ tools.Tool = (*search)(nil)

const description = "Searches the tools that you can use by words of their names, descriptions and parameters. " +
	"The tools that it finds can be called from then on, by their names. Call it first when no tool that you see does what you need; an empty query lists tools by name."

var parameters = json.RawMessage(`{"type":"object","properties":{` +
	`"query":{"type":"string","maxLength":1024,"description":"Words that describe the tool's purpose."},` +
	`"max_results":{"type":"integer","minimum":1,"maximum":64,"description":"How many tools to find at most."}},` +
	`"required":["query"],"additionalProperties":false}`)

// Descriptor describes the tool.
func (*search) Descriptor() tools.Descriptor {
	return tools.Descriptor{Description: description, Parameters: parameters, Effect: tools.Read}
}

// result is the result of a search.
type result struct {
	Tools []foundTool `json:"tools"`
	// Matches counts all matching tools, and Total all searched ones.
	Matches int `json:"matches"`
	Total   int `json:"total"`
}

type foundTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Call searches.
func (s *search) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	var in struct {
		Query      string `json:"query"`
		MaxResults int    `json:"max_results"`
	}
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return tools.ErrorResult(fmt.Sprintf("tool_input_invalid: %v", err)), nil
	}
	if len(in.Query) > maxQuery {
		return tools.ErrorResult(fmt.Sprintf("the query has %d bytes; at most %d are allowed", len(in.Query), maxQuery)), nil
	}
	limit := s.MaxResults
	if in.MaxResults > 0 {
		limit = min(limit, in.MaxResults)
	}
	all := s.searchable()
	ranked := Rank(all, in.Query)
	out := result{Tools: []foundTool{}, Matches: len(ranked), Total: len(all)}
	for _, tool := range ranked[:min(limit, len(ranked))] {
		out.Tools = append(out.Tools, foundTool{tool.Name, clipText(tool.Description)})
	}
	data, err := json.Marshal(out)
	if err != nil {
		return tools.Result{}, fmt.Errorf("encode what was found: %w", err)
	}
	return tools.Result{Content: []model.Part{model.Text(string(data))}, Data: data}, nil
}

// searchable returns the tools to search.
func (s *search) searchable() []model.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.tools), func(t model.Tool) bool { return t.Name == ToolID })
}

// noteTools records the tools to search.
func (s *search) noteTools(_ context.Context, p *plugins.PhaseContext) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = p.Tools
	return nil
}

// hideUnfound excludes tools not found yet from the next request.
func (s *search) hideUnfound(_ context.Context, p *plugins.PhaseContext) error {
	found := foundKey.Get(p)
	for i := range p.Tools {
		name := p.Tools[i].Name
		if name != ToolID && !slices.Contains(s.Always, name) && !slices.Contains(found, name) {
			p.Schedule(core.ExcludeTool, name)
		}
	}
	return nil
}

// errResult reports an unreadable tool result, which cannot happen: the tool wrote it.
var errResult = errors.New("the result of a tool search cannot be read")

// noteFound records the tools that a search found.
func noteFound(_ context.Context, p *plugins.PhaseContext) error {
	if p.Call == nil || p.Call.Name != ToolID || p.Result == nil || p.Result.IsError || len(p.Result.Data) == 0 {
		return nil
	}
	var r result
	if err := json.Unmarshal(p.Result.Data, &r); err != nil {
		return errors.Join(errResult, err)
	}
	found := slices.Clone(foundKey.Get(p))
	for i := range r.Tools {
		if !slices.Contains(found, r.Tools[i].Name) {
			found = append(found, r.Tools[i].Name)
		}
	}
	foundKey.Set(p, found)
	return nil
}
