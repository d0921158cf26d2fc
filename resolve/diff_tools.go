package resolve

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/plugins"
)

// compareTools compares the agent's access to each tool. Gates compare their rules if they
// can. If it is unknown which of two settings or tool definitions allows more, the change counts
// as widening.
func compareTools(before, after *view, settingsChanged bool) []Change {
	old, fresh := byID(before.tools), byID(after.tools)
	var changes []Change
	add := func(id string) {
		if c, differs := compareTool(before, after, old[id], fresh[id], settingsChanged); differs {
			c.Subject = id
			changes = append(changes, c)
		}
		did, does := before.does[id], after.does[id]
		if did != "" && does != "" && did != does {
			changes = append(changes, Change{
				Kind: Changed, Field: "tool definition", Subject: id, Old: did, New: does, Widened: reachOf(fresh[id]).rank > 0,
			})
		}
	}
	for i := range before.tools {
		add(before.tools[i].ID)
	}
	for i := range after.tools {
		if old[after.tools[i].ID] == nil {
			add(after.tools[i].ID)
		}
	}
	return changes
}

// compareTool compares an agent's access to one tool. It ignores rules that were only moved.
func compareTool(before, after *view, old, fresh *ToolChoice, settingsChanged bool) (Change, bool) {
	was, now := reachOf(old), reachOf(fresh)
	c := Change{Kind: kindOf(was.text, now.text), Field: "tool", Old: was.text, New: now.text}
	if old == nil || fresh == nil || !old.Rule.Visible || !fresh.Rule.Visible || before.env == nil || after.env == nil {
		c.Widened = now.rank > was.rank
		return c, was != now
	}
	w := after.env.Widening(before.env, fresh.ID, settingsChanged)
	c.Widened, c.Reason = w.Widened, w.Reason
	return c, w.Widened || w.Narrowed
}

func byID(choices []ToolChoice) map[string]*ToolChoice {
	m := make(map[string]*ToolChoice, len(choices))
	for i := range choices {
		m[choices[i].ID] = &choices[i]
	}
	return m
}

// reach is an agent's access to a tool: a text for people and a rank that grows with the access.
type reach struct {
	rank int
	text string
}

func reachOf(c *ToolChoice) reach {
	if c == nil || !c.Rule.Visible {
		return reach{}
	}
	// Denied is rank 0, like a missing tool.
	return reach{rank: int(plugins.AccessDeny) - int(c.Verdict.Access), text: reachText(c.Verdict)}
}

// reachText describes the access that a verdict allows.
func reachText(v plugins.Verdict) string {
	text := v.Access.String()
	if v.Access == plugins.AccessAllow && v.Rule == "" {
		text = "allowed"
	}
	if v.Rule != "" {
		text += ": " + v.Rule
	}
	return text
}

// otherTools is the field of a change that lets an agent call tools that it does not have yet, such
// as clients' tools.
const otherTools = "other tools"

// compareOtherTools compares the access to tools that the agent has in neither revision, using
// samples. It returns the first widened one, without the rule, whose pattern can be a secret.
func compareOtherTools(before, after *view) []Change {
	if before.env == nil || after.env == nil {
		return nil
	}
	old, fresh := byID(before.tools), byID(after.tools)
	var added []string
	for id := range fresh {
		if old[id] == nil {
			added = append(added, id)
		}
	}
	for _, id := range slices.Concat(before.env.SampleTools(nil), after.env.SampleTools(added)) {
		if _, registered := after.set.Tools.Get(id); registered || old[id] != nil || fresh[id] != nil || after.expectsNew(before, id) {
			continue
		}
		if w := after.env.Widening(before.env, id, true); w.Widened {
			return []Change{{Kind: Changed, Field: otherTools, Old: before.env.ToolVerdict(id).Access.String(), New: after.env.ToolVerdict(id).Access.String(), Widened: true}}
		}
	}
	return nil
}

// expectsNew reports whether a tool may belong to a bundle that only the later revision has.
func (v *view) expectsNew(before *view, id string) bool {
	for name, bundle := range v.set.Bundles.All() {
		if _, known := before.set.Bundles.Get(name); !known && strings.HasPrefix(id, bundle.Source.Prefix()) {
			return true
		}
	}
	return false
}
