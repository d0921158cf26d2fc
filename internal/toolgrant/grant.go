package toolgrant

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// SearchPlugin is the id of the plugin that offers tools by a search, and of its tool.
const SearchPlugin = "tool_search"

// Scope lists the tools to choose from.
type Scope struct {
	Set *registry.Set
	// Usable are the ids of the tools that the caller may use. Agent is the agent that runs the
	// turn, with the defaults applied. Its catalog takes precedence.
	Usable []string
	Agent  *spec.Agent
	// Withheld are usable tools that turns do not get, each with the reason.
	Withheld map[string]string
	// Threshold is how many safe tools a turn gets without naming them.
	Threshold int
}

// Choice is the decision about a tool.
type Choice struct {
	Tool    string `json:"tool"`
	Granted bool   `json:"granted"`
	// Rule is why.
	Rule string `json:"rule"`
}

// Grant has the tools that a turn gets.
type Grant struct {
	// Choices are all tools that were considered, in order.
	Choices []Choice `json:"choices"`
	// Search reports whether the model has to search for them.
	Search bool `json:"search"`
}

// Choose returns the tools of a turn: the named ones and, unless disabled, the safe ones. Above
// the threshold, only safe tools of plugins that the text (the user's latest message) names are
// included, plus the agent's delegates. The error is a *RefusedError, or an invalid agent
// catalog.
func (s *Scope) Choose(asked *Request, text string) (*Grant, error) {
	filter, list := toolset.CompileFilter(s.Agent)
	if err := list.Err(); err != nil {
		return nil, err
	}
	g := &Grant{}
	visible := s.visibleTools(filter, g)
	if asked.wantsSafe() {
		s.addSafe(g, visible, text)
	}
	for i := range asked.Refs {
		ids, err := s.find(&asked.Refs[i], visible)
		if err != nil {
			return nil, err
		}
		g.add(ids, fmt.Sprintf("toolRefs[%d] names it", i))
	}
	if asked.wantsSafe() {
		for _, id := range agentTools(s.Agent) {
			g.Choices = append(g.Choices, Choice{id, filter.Decide(id).Visible, "the agent reaches another agent by it"})
		}
	}
	if asked.Source == SourceSearch {
		if err := s.addSearch(g, filter); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// visibleTools returns the ids of the tools that the caller and the agent may use, and
// adds all tools of the caller to the choices.
func (s *Scope) visibleTools(filter *toolset.Filter, g *Grant) []string {
	var visible []string
	for _, id := range s.Usable {
		d := filter.Decide(id)
		if reason, withheld := s.Withheld[id]; withheld && d.Visible {
			g.Choices = append(g.Choices, Choice{id, false, reason})
		} else if d.Visible {
			visible = append(visible, id)
			g.Choices = append(g.Choices, Choice{id, false, "it is neither safe nor named"})
		} else {
			g.Choices = append(g.Choices, Choice{id, false, d.Rule()})
		}
	}
	return visible
}

// add grants tools that have not been granted.
func (g *Grant) add(ids []string, rule string) {
	granted := make(map[string]bool, len(ids))
	for _, id := range ids {
		granted[id] = true
	}
	for i := range g.Choices {
		if c := &g.Choices[i]; granted[c.Tool] && !c.Granted {
			c.Granted, c.Rule = true, rule
		}
	}
}

// addSafe grants the safe tools or, if there are too many, those that a text names.
func (s *Scope) addSafe(g *Grant, visible []string, text string) {
	safe := s.safeTools(visible)
	if len(safe) <= s.Threshold {
		g.add(safe, "it only reads")
		return
	}
	named := s.narrow(safe, text)
	if named == nil {
		g.add(safe, "it only reads, and the message names no plugin")
		return
	}
	g.add(named, "it only reads, and the message names its plugin")
	for i := range g.Choices {
		if c := &g.Choices[i]; !c.Granted && slices.Contains(safe, c.Tool) {
			c.Rule = fmt.Sprintf("it only reads, but the message names other plugins, and %d safe tools are more than %d", len(safe), s.Threshold)
		}
	}
}

// safeTools returns the ids of the read-only tools.
func (s *Scope) safeTools(visible []string) []string {
	var ids []string
	for _, id := range visible {
		if tool, ok := s.Set.Tools.Get(id); ok && effectOf(tool) == tools.Read {
			ids = append(ids, id)
		}
	}
	return ids
}

// effectOf returns the effect class of a tool; the worst class if the tool panics.
func effectOf(tool tools.Tool) (effect tools.Effect) {
	defer panics.Handle(func(*panics.Error) { effect = tools.Once })
	d := tool.Descriptor()
	return d.EffectClass()
}

// narrow returns the tools of the plugins that a text names as whole words; nil if it
// names none.
func (s *Scope) narrow(ids []string, text string) []string {
	text = strings.ToLower(text)
	named := make(map[string]bool)
	var list []string
	for _, id := range ids {
		owner := strings.ToLower(s.Set.Tools.Owner(id))
		in, known := named[owner]
		if !known {
			in = hasWord(text, owner)
			named[owner] = in
		}
		if in {
			list = append(list, id)
		}
	}
	return list
}

// hasWord reports whether a text contains a whole word: no letter, digit, hyphen or underscore is
// next to it.
func hasWord(text, word string) bool {
	if word == "" {
		return false
	}
	for rest := text; ; {
		at := strings.Index(rest, word)
		if at < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(rest[:at])
		after, _ := utf8.DecodeRuneInString(rest[at+len(word):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(rest[at:])
		rest = rest[at+size:]
	}
}

func inWord(r rune) bool { return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// find returns the ids of the tools that a reference names.
func (s *Scope) find(ref *Ref, visible []string) ([]string, error) {
	owner := ref.owner()
	if owner == everyTool {
		return visible, nil
	}
	var ids, owners []string
	for _, id := range visible {
		owners = append(owners, s.Set.Tools.Owner(id))
		if s.names(ref, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		return ids, nil
	}
	if id, reason := s.findWithheld(ref); id != "" {
		return nil, &RefusedError{Unsupported, fmt.Sprintf("tool %q is not for turns without an agent: %s", clip.Text(id), reason)}
	}
	name := owner
	if ref.Operation != "" {
		name += "." + ref.Operation
	}
	missing := &RefusedError{Missing, fmt.Sprintf("tool %q not found", clip.Text(name))}
	if near, ok := nearest.Of(owner, owners); ok && near != owner {
		missing.Message += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, missing
}

// names reports whether a reference names a tool.
func (s *Scope) names(ref *Ref, id string) bool {
	return s.Set.Tools.Owner(id) == ref.owner() && (ref.Operation == "" || id == ref.Operation || strings.HasSuffix(id, "__"+ref.Operation))
}

// findWithheld returns a withheld tool that a reference names, with the reason.
func (s *Scope) findWithheld(ref *Ref) (id, reason string) {
	for _, id := range s.Usable {
		if reason, withheld := s.Withheld[id]; withheld && s.names(ref, id) {
			return id, reason
		}
	}
	return "", ""
}

// agentTools returns the ids of the tools by which an agent calls other agents.
func agentTools(agent *spec.Agent) []string {
	var ids []string
	for _, id := range agent.Delegates {
		ids = append(ids, agenttool.DelegateID(id))
	}
	for _, id := range agent.Handoffs {
		ids = append(ids, agenttool.HandoffID(id))
	}
	return ids
}

// addSearch grants the tool that searches the others, if there are any.
func (s *Scope) addSearch(g *Grant, filter *toolset.Filter) error {
	if !slices.ContainsFunc(g.Choices, func(c Choice) bool { return c.Granted }) {
		return nil
	}
	if _, ok := s.Set.Plugins.Get(SearchPlugin); !ok {
		return &RefusedError{Unsupported, fmt.Sprintf("tool source %s needs the plugin %s, which this program does not have", SourceSearch, SearchPlugin)}
	}
	if d := filter.Decide(SearchPlugin); d.Field == toolset.FieldExcludedTools || d.Field == toolset.FieldExcludedToolPatterns {
		return &RefusedError{Unsupported, fmt.Sprintf("tool source %s is not for the agent of the provider, which may not use %s: %s", SourceSearch, SearchPlugin, d.Rule())}
	}
	g.Search = true
	g.Choices = append(g.Choices, Choice{SearchPlugin, true, "the model searches the other tools with it"})
	return nil
}

// Apply gives an agent exactly these tools.
func (g *Grant) Apply(agent *spec.Agent) {
	ids := spec.Names{}
	for _, c := range g.Choices {
		if c.Granted {
			ids = append(ids, c.Tool)
		}
	}
	agent.AllowedTools, agent.AllowedToolPatterns = ids, nil
	if g.Search && !slices.Contains(agent.PluginIDs, SearchPlugin) {
		agent.PluginIDs = append(slices.Clone(agent.PluginIDs), SearchPlugin)
	}
}

// WithoutAgent returns the tools that a turn without an agent may not use, each with the
// reason, which ends with unlisted. With patterns, these are the tools that no pattern lists;
// with nil, all tools that are not read-only or that an agent guards.
func WithoutAgent(set *registry.Set, listed spec.Names, guarded map[string]string, unlisted string) (map[string]string, error) {
	patterns := make([]pattern.Pattern, 0, len(listed))
	for _, source := range listed {
		p, err := pattern.Compile(source)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	withheld := make(map[string]string)
	for id, tool := range set.Tools.All() {
		switch reason, isGuarded := guarded[id]; {
		case slices.ContainsFunc(patterns, func(p pattern.Pattern) bool { return p.Match(id) }):
		case listed != nil:
			withheld[id] = unlisted
		case effectOf(tool) != tools.Read:
			withheld[id] = "it does more than read, and " + unlisted
		case isGuarded:
			withheld[id] = reason + ", and " + unlisted
		}
	}
	return withheld, nil
}
