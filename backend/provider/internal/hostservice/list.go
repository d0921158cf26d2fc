package hostservice

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/tools"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	defaultPage, maxPage = 100, 1000
	// maxSchema is the largest schema that is listed, in bytes; a larger one is
	// replaced by anySchema.
	maxSchema = 128 << 10
	anySchema = `{"type":"object"}`
	// maxSearchText bounds the text that a provider may search, in bytes.
	maxSearchText = 1200
)

// ListTools lists the tools of a turn, or with a query the matching ones, best first. A page's
// token is the number of tools to skip.
func (s *Service) ListTools(ctx context.Context, req *providerproto.ListAgentToolsRequest) (*providerproto.ListAgentToolsResponse, error) {
	d, err := s.callsOf(ctx, req.GetRunGrant(), req.GetSessionId(), req.GetTurnId())
	if err != nil {
		return nil, err
	}
	first := 0
	if token := req.GetPageToken(); token != "" {
		if first, err = strconv.Atoi(token); err != nil || first < 0 {
			return nil, status.Error(codes.InvalidArgument, "invalid page_token")
		}
	}
	size := int(req.GetPageSize())
	if size <= 0 {
		size = defaultPage
	}
	found := matchTools(d.Tools, req.GetQuery())
	first = min(first, len(found))
	last := min(first+min(size, maxPage), len(found))
	out := new(providerproto.ListAgentToolsResponse)
	for _, t := range found[first:last] {
		out.Tools = append(out.Tools, listedTool(t))
	}
	if last < len(found) {
		out.NextPageToken = strconv.Itoa(last)
	}
	return out, nil
}

// matchTools returns the tools that contain a word of the query, ranked by the number of such
// words; all without a query.
func matchTools(all []Tool, query string) []*Tool {
	words := strings.Fields(strings.ToLower(query))
	found, score := make([]*Tool, 0, len(all)), make(map[*Tool]int, len(all))
	for i := range all {
		t := &all[i]
		name, text := strings.ToLower(t.Name), strings.ToLower(t.Description)
		for _, w := range words {
			if strings.Contains(name, w) {
				score[t] += 3
			}
			if strings.Contains(text, w) {
				score[t]++
			}
		}
		if len(words) == 0 || score[t] > 0 {
			found = append(found, t)
		}
	}
	slices.SortStableFunc(found, func(a, b *Tool) int { return score[b] - score[a] })
	return found
}

// listedTool returns a tool in the form for providers. Its id and name are equal.
func listedTool(t *Tool) *providerproto.ListedAgentTool {
	input := string(t.Parameters)
	if len(input) > maxSchema || input == "" {
		input = anySchema
	}
	output := string(t.Output)
	if len(output) > maxSchema {
		output = ""
	}
	return &providerproto.ListedAgentTool{
		Id: t.Name, McpName: t.Name, Title: t.Name, Description: t.Description,
		InputSchema: input, OutputSchema: output, Annotations: annotationsOf(t.Effect),
		Ref: &providerproto.AgentToolRef{Plugin: t.Name}, SearchText: clip.Head(t.Name+" "+t.Description, maxSearchText),
	}
}

// annotationsOf derives a tool's annotations from its effect class.
func annotationsOf(e tools.Effect) *providerproto.OperationAnnotations {
	switch e {
	case tools.Read:
		return &providerproto.OperationAnnotations{ReadOnlyHint: new(true), IdempotentHint: new(true), DestructiveHint: new(false)}
	case tools.Idempotent:
		return &providerproto.OperationAnnotations{ReadOnlyHint: new(false), IdempotentHint: new(true)}
	default:
		return &providerproto.OperationAnnotations{ReadOnlyHint: new(false), IdempotentHint: new(false)}
	}
}
