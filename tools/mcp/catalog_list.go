package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/mend"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPages bounds the pages of a list of tools.
const maxPages = 100

// listCatalog requests the tools.
func (c *session) listCatalog(ctx context.Context, fingerprint string) (_ *catalog, err error) {
	defer c.recoverPanic(&err)
	var list []toolInfo
	size := 0
	params := new(mcp.ListToolsParams)
	cursors := make(map[string]bool)
	for range maxPages {
		page, err := c.client.ListTools(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list the tools: %w", err)
		}
		for _, t := range page.Tools {
			info, err := newToolInfo(t, c.offersTasks())
			if err != nil {
				return nil, fmt.Errorf("list the tools: %w", err)
			}
			info.hideTexts(c.target.tokens())
			size += len(info.Description) + len(info.InputSchema) + len(info.OutputSchema)
			list = append(list, info)
		}
		if len(list) > maxTools {
			return nil, fmt.Errorf("it lists more than %d tools", maxTools)
		}
		if size > maxCatalog {
			return nil, fmt.Errorf("its list of tools has more than %d bytes", maxCatalog)
		}
		if page.NextCursor == "" {
			list := newCatalog(fingerprint, c.serverInfo(), list)
			list.Features = offeredFeatures(c.client.InitializeResult())
			return list, nil
		}
		if cursors[page.NextCursor] {
			return nil, errors.New("its list of tools has no end: a cursor is repeated")
		}
		cursors[page.NextCursor] = true
		params.Cursor = page.NextCursor
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// serverInfo returns the server's own name and version.
func (c *session) serverInfo() serverInfo {
	if r := c.client.InitializeResult(); r != nil && r.ServerInfo != nil {
		return serverInfo{Name: r.ServerInfo.Name, Version: r.ServerInfo.Version}
	}
	return serverInfo{}
}

// offersTasks reports whether tools that require a task can run.
func (c *session) offersTasks() bool {
	if c.isStateless() {
		return true // the server decides
	}
	r := c.client.InitializeResult()
	return r != nil && r.Capabilities != nil && r.Capabilities.Experimental[mend.OffersTasksKey] != nil
}

// newToolInfo returns the description of a tool, within bounds. A tool that no agent could
// use is kept with the reason.
func newToolInfo(t *mcp.Tool, offersTasks bool) (toolInfo, error) {
	info := toolInfo{Name: t.Name, Description: clip.Visible(cmp.Or(t.Description, t.Title), maxDescription)}
	if len(t.Name) > maxName { // it stays too long
		info.Name = clip.Head(t.Name, maxName) + "…"
	}
	var err error
	if info.InputSchema, err = json.Marshal(t.InputSchema); err != nil {
		return info, err
	}
	if info.OutputSchema, err = json.Marshal(t.OutputSchema); err != nil {
		return info, err
	}
	if a := t.Annotations; a != nil {
		info.Annotations = annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint != nil && *a.DestructiveHint, Idempotent: a.IdempotentHint}
	}
	switch size := max(len(info.InputSchema), len(info.OutputSchema)); {
	case size > maxSchema:
		info.InputSchema, info.OutputSchema = nil, nil
		info.Unusable = fmt.Sprintf("a schema has %d bytes; at most %d are allowed", size, maxSchema)
	case t.Meta[mend.TaskSupportKey] == "required" && offersTasks:
		info.RequiresTask = true
	case t.Meta[mend.TaskSupportKey] == "required":
		info.Unusable = "it runs as a task only, and the server does not offer tasks"
	}
	return info, nil
}

// hideTexts removes secrets that a server repeats in the description of a tool.
func (t *toolInfo) hideTexts(secrets []string) {
	if len(secrets) == 0 {
		return
	}
	t.Name, t.Description = redactTexts(t.Name, secrets), redactTexts(t.Description, secrets)
	t.InputSchema = []byte(redactTexts(string(t.InputSchema), secrets))
	t.OutputSchema = []byte(redactTexts(string(t.OutputSchema), secrets))
}
