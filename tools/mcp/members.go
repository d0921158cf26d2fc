package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/internal/toolname"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Descriptor returns an empty descriptor: agents get the members.
func (s *server) Descriptor() tools.Descriptor { return tools.Descriptor{} }

// Call fails: agents get the members.
func (s *server) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{}, fmt.Errorf("%s is a server, not a tool", s.id)
}

// Members returns the tools of the catalog. It reports unusable tools: an invalid schema as a
// warning, since the server is not the configuration's responsibility, and two names for one id as
// an error.
func (s *server) Members() ([]tools.Member, diag.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog != nil {
		return s.members, s.found
	}
	d := diag.New(diag.NoCatalog, "", "the tools of %q are not known: the catalog %s cannot be used: %v", s.id, s.file, s.unknown)
	if errors.Is(s.unknown, errNoCatalog) {
		d = diag.New(diag.NoCatalog, "", "the tools of %q are not known: there is no catalog %s", s.id, s.file)
	}
	if s.refersToTenant {
		return nil, diag.List{d.WithHint("run runtime validate --online --tenant-variable NAME=VALUE with values of a tenant, which asks the server and writes the catalog")}
	}
	return nil, diag.List{d.WithHint("run runtime validate --online, which asks the server and writes the catalog")}
}

// setCatalog sets the current catalog and reports whether its tools differ from the previous
// ones.
func (s *server) setCatalog(c *catalog) (differs bool) {
	if known := s.currentCatalog(); known != nil && sameTools(known, c) {
		return false
	}
	members, found := s.expandCatalog(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog, s.members, s.found, s.unknown = c, members, found, nil
	return true
}

// expandCatalog makes the tools of a catalog.
func (s *server) expandCatalog(c *catalog) ([]tools.Member, diag.List) {
	var found diag.List
	warn := func(code diag.Code, format string, args ...any) {
		d := diag.New(code, "", format, args...).AtKey()
		d.Severity = diag.Warning
		found = append(found, d)
	}
	members := make([]tools.Member, 0, len(c.Tools))
	names := make(map[string]string, len(c.Tools))
	for i := range c.Tools {
		info := &c.Tools[i]
		if !s.filter.allowsTool(info.Name) {
			continue
		}
		if info.Name == "" || len(info.Name) > maxName {
			warn(diag.InvalidID, "a tool of %q is left out: its name has %d bytes", s.id, len(info.Name))
			continue
		}
		if info.Unusable != "" {
			warn(diag.NoEffect, "the tool %q of %q is left out: %s", clip.Visible(info.Name, maxName), s.id, info.Unusable)
			continue
		}
		id := toolID(s.Prefix(), info.Name)
		if other, taken := names[id]; taken {
			if other == info.Name {
				warn(diag.DuplicateID, "%q lists the tool %q twice; the first one counts", s.id, clip.Visible(info.Name, maxName))
				continue
			}
			found = append(found, diag.New(diag.ToolIDConflict, "", "the tools %q and %q of %q get one id, %s",
				clip.Visible(other, maxName), clip.Visible(info.Name, maxName), s.id, id).WithHint("leave one of them out with filter").AtKey())
			continue
		}
		made, err := s.newMember(id, info)
		if err != nil {
			warn(diag.InvalidSchema, "the tool %q of %q is left out: %v", clip.Visible(info.Name, maxName), s.id, err)
			continue
		}
		names[id] = info.Name
		members = append(members, tools.Member{ID: id, Tool: made})
	}
	for _, feature := range c.Features {
		id := toolID(s.Prefix(), feature)
		switch {
		case !s.config.allowsFeature(feature):
		case names[id] != "":
			found = append(found, diag.New(diag.ToolIDConflict, "", "the tool %q of %q gets the id of its %s, %s",
				clip.Visible(names[id], maxName), s.id, feature, id).WithHint("leave the tool out with filter, or the feature out of features").AtKey())
		default:
			members = append(members, tools.Member{ID: id, Tool: s.newFeatureTool(feature)})
		}
	}
	slices.SortFunc(members, func(a, b tools.Member) int { return strings.Compare(a.ID, b.ID) })
	return members, found
}

// newMember makes a tool. The error names an invalid schema.
func (s *server) newMember(id string, info *toolInfo) (*tool, error) {
	t := &tool{server: s, name: info.Name, requiresTask: info.RequiresTask, descriptor: tools.Descriptor{
		Description: info.Description,
		Parameters:  info.InputSchema,
		Output:      info.OutputSchema,
		Effect:      info.Annotations.toolEffect(s.config.Effect),
		Timeout:     s.config.callTimeout(),
		Serial:      s.config.Serial,
	}}
	if info.OutputSchema != nil {
		compiled, err := schema.Compile(info.OutputSchema)
		if err != nil {
			return nil, fmt.Errorf("its output schema is not a valid JSON Schema: %w", err)
		}
		t.output = compiled
	}
	if _, list := toolset.Compile(id, t, toolset.Source{Kind: toolset.SourceGlobal, Name: s.id}); list.HasErrors() {
		return nil, errors.New(list[0].Message)
	}
	return t, nil
}

// toolID returns the ID of a server's tool: the prefix and the name, in a form that models accept.
// It does not depend on other tools.
func toolID(prefix, name string) string { return toolname.ID.Fit(prefix + name) }
