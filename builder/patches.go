package builder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
)

// checkPatches reports patches that widen access without allow_widening of the patch or its file.
// It compares rev, which resolves, with a revision without them.
func (b *AgentRuntimeBuilder) checkPatches(ctx context.Context, rev *registry.Revision) diag.List {
	var list diag.List
	for _, file := range b.patched {
		before, closers := b.withoutPatches(rev.Set(), file)
		list = append(list, judgePatches(ctx, file, before, rev)...)
		for _, c := range closers {
			_ = c.Close() // errors of the comparison do not matter
		}
	}
	return list
}

// judgePatches reports a file's guarded patches that let agents do more than in the set before.
func judgePatches(ctx context.Context, file *config.File, before *registry.Set, rev *registry.Revision) diag.List {
	old, err := registry.NewStore(nil).PublishUnchecked(ctx, func(d *registry.Draft) error {
		d.Set = before
		return nil
	})
	var diffs []resolve.AgentDiff
	if err == nil {
		diffs, err = resolve.Widening(ctx, old, rev)
	}
	guarded := file.GuardedPatches()
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return diag.List{guarded[0].Widens("", "it cannot be told whether the patch widens access: %v", err)}
	}
	widened := make([][]widening, len(guarded))
	for i := range diffs {
		for j := range diffs[i].Changes {
			if w := (widening{diffs[i].Agent, &diffs[i].Changes[j]}); w.change.Widened {
				at := responsiblePatch(file, guarded, rev.Set(), &w)
				widened[at] = append(widened[at], w)
			}
		}
	}
	var list diag.List
	for i := range guarded {
		if len(widened[i]) > 0 {
			list = append(list, reportWidening(&guarded[i], widened[i]))
		}
	}
	return list
}

// widening is a change that lets an agent do more.
type widening struct {
	agent  string
	change *resolve.Change
}

// responsiblePatch returns the likely cause: the patch of the tool if the tool changed, of the
// agent, of an agent that it extends, of the tool, or else the first one.
func responsiblePatch(file *config.File, guarded []config.Patch, set *registry.Set, w *widening) int {
	find := func(registry, id string) int {
		return slices.IndexFunc(guarded, func(p config.Patch) bool { return p.Registry == registry && p.ID == id })
	}
	tool := find("tools", set.Tools.Owner(w.change.Subject))
	if tool >= 0 && w.change.Field == "tool definition" {
		return tool
	}
	first := -1
	for _, id := range append([]string{w.agent}, file.Extends(w.agent)...) {
		i := find("agents", id)
		switch {
		case i < 0:
		case likelyField(&guarded[i], w.change) != "":
			return i
		case first < 0:
			first = i
		}
	}
	if first >= 0 {
		return first
	}
	if tool >= 0 {
		return tool
	}
	plugin := slices.IndexFunc(guarded, func(p config.Patch) bool { return p.Registry == "plugins" })
	return max(plugin, 0)
}

// reportWidening reports a widening patch at the likely field.
func reportWidening(p *config.Patch, widened []widening) diag.Diagnostic {
	w, c := widened[0], widened[0].change
	var text string
	switch {
	case c.Field == "tool definition":
		text = fmt.Sprintf("the patch changes what tool %q does, which agent %q may call", c.Subject, w.agent)
	case c.Field == "tool" && c.Old == "":
		text = fmt.Sprintf("the patch gives agent %q the tool %q", w.agent, c.Subject)
	case c.Field == "tool":
		text = fmt.Sprintf("the patch lets agent %q call tool %q where it may not: %s → %s", w.agent, c.Subject, c.Old, c.New)
	default:
		text = fmt.Sprintf("the patch widens %s of agent %q: %s → %s", strings.TrimSpace(c.Field+" "+c.Subject), w.agent, cmp.Or(c.Old, "none"), cmp.Or(c.New, "none"))
	}
	if more := len(widened) - 1; more > 0 {
		text += fmt.Sprintf(", and widens access in %d more ways", more)
		if more == 1 {
			text = strings.TrimSuffix(text, "1 more ways") + "one more way"
		}
	}
	field := likelyField(p, c)
	if fields := p.Fields(); field == "" && len(fields) == 1 {
		field = fields[0]
	}
	return p.Widens(field, "%s", text)
}

// likelyField returns the patch field that is the likely cause of a change, or "" if absent.
func likelyField(p *config.Patch, c *resolve.Change) string {
	fields := p.Fields()
	likely := []string{"sections", "plugin_ids", "active_hook_filter", "extends"}
	switch {
	case slices.Contains(fields, c.Field):
		return c.Field
	case c.Field != "tool":
		return ""
	case c.Old != "": // same tool, but other rules
	case strings.HasPrefix(c.Subject, agenttool.DelegatePrefix):
		likely = []string{"delegates", "extends"}
	case strings.HasPrefix(c.Subject, agenttool.HandoffPrefix):
		likely = []string{"handoffs", "extends"}
	default:
		likely = []string{"allowed_tools", "allowed_tool_patterns", "excluded_tools", "excluded_tool_patterns", "plugin_ids", "active_hook_filter", "extends"}
	}
	for _, field := range likely {
		if slices.Contains(fields, field) {
			return field
		}
	}
	return ""
}

// withoutPatches returns a set without a file's guarded patches. It shares components with the
// given set, except for plugins, whose gates decide calls: these are created and returned for
// closing. Fingerprints show whether tools and providers differ.
func (b *AgentRuntimeBuilder) withoutPatches(set *registry.Set, file *config.File) (*registry.Set, []io.Closer) {
	f := file.BeforePatches()
	before := set.Clone()
	for _, agent := range f.Agents {
		before.Agents.Put(agent.ID, agent)
	}
	for i := range f.Models {
		before.Models.Put(f.Models[i].ID, &f.Models[i])
	}
	for i := range f.Pools {
		before.Pools.Put(f.Pools[i].ID, &f.Pools[i])
	}
	guarded := map[string]bool{}
	for _, p := range file.GuardedPatches() {
		guarded[diag.Key(p.Registry, p.ID)] = true
	}
	for _, e := range f.Providers {
		if path := before.Providers.Path(e.ID); guarded[path] {
			setFingerprint(before, path, e.Kind.Type, e.Config)
			if _, there := before.Providers.Get(e.ID); !there {
				before.Providers.Put(e.ID, model.Unavailable{Err: errors.New("the patch removes it")})
			}
		}
	}
	for _, e := range f.AgentProviders {
		if path := before.AgentProviders.Path(e.ID); guarded[path] {
			setFingerprint(before, path, e.Kind.Type, e.Config)
			if _, there := before.AgentProviders.Get(e.ID); !there {
				before.AgentProviders.Put(e.ID, unavailableProvider{errors.New("the patch removes it")})
			}
		}
	}
	for _, e := range f.Tools {
		if path := diag.Key("tools", e.ID); guarded[path] {
			setFingerprint(before, path, e.Kind.Type, e.Config)
		}
	}
	var closers []io.Closer
	for _, e := range f.Plugins {
		path := before.Plugins.Path(e.ID)
		if !guarded[path] {
			continue
		}
		plugin, err := createComponent(e, plugins.Settings{ID: e.ID, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			plugin = unavailablePlugin{}
		}
		if c, ok := plugin.(io.Closer); ok {
			closers = append(closers, c)
		}
		setFingerprint(before, path, e.Kind.Type, e.Config)
		before.Plugins.Put(e.ID, plugin)
	}
	return before, closers
}
