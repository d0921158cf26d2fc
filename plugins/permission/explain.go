package permission

import (
	"fmt"
	stdpath "path"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// explainMatch explains, for each condition of a rule that matches a call, why it
// counts as true.
func (r *Rule) explainMatch(args *arguments) []string {
	if r.primary != nil && (r.primary.kind == ofPath || r.primary.kind == ofCommand) {
		return []string{r.explainPrimary(args)}
	}
	texts := make([]string, len(r.conditions))
	for i := range r.conditions {
		texts[i] = r.conditions[i].explainValue(args)
	}
	return texts
}

func (r *Rule) explainPrimary(args *arguments) string {
	if len(args.object) == 0 {
		return "the call has no argument, so the rule counts as fitting"
	}
	c := condition{path: path{{kind: toAnyKey}}, op: like, value: *r.primary}
	return c.explainValue(args)
}

// explainValue names the deciding value: the one that satisfies the condition, or is undecidable.
func (c *condition) explainValue(args *arguments) string {
	best, text := no, ""
	c.path.visitValues(args.object, func(v any, there bool) bool {
		t := c.compareArgument(args, v, there)
		if said := c.describeValue(v, there, t); t > best || t == best && (text == "" || said < text) {
			best, text = t, said
		}
		return true
	})
	if best == unknown && c.op == like && c.value.kind == ofCommand && strings.HasPrefix(text, surely) {
		return fmt.Sprintf("%s holds for a part: %s", c, text)
	}
	if best == unknown {
		return fmt.Sprintf("%s cannot be decided, which counts as true: %s", c, text)
	}
	return fmt.Sprintf("%s holds: %s", c, text)
}

// describeValue describes a value at the path.
func (c *condition) describeValue(v any, there bool, t truth) string {
	shown := clip.Text(textOf(v))
	s, isText := v.(string)
	switch {
	case !there:
		return "the call has no such argument"
	case c.value.kind == ofCommand && isText:
		return c.value.command.describeMatch(s)
	case t == unknown && c.value.kind == ofPath && isText:
		return fmt.Sprintf("%q cannot be compared with the pattern", shown)
	case t == unknown:
		return fmt.Sprintf("it is %s, %s", kindOf(v), shown)
	case c.value.kind == ofPath && isText:
		return fmt.Sprintf("it is %q", clip.Text(stdpath.Clean(s)))
	case isText:
		return fmt.Sprintf("it is %q", shown)
	default:
		return "it is " + shown
	}
}

// describeMatch names the command of a text that matches, or that may match.
func (p *commandPattern) describeMatch(text string) string {
	commands, err := splitCommand(text)
	if err != nil {
		return "it cannot be read as a command with confidence"
	}
	best, name := no, ""
	for i := range commands {
		t := p.matchOne(&commands[i])
		if said := clip.Text(commands[i].text); t > best || name == "" {
			best, name = t, said
			if !commands[i].known {
				name += "…"
			}
		}
	}
	if best == no {
		return "none of its commands fits"
	}
	if best == unknown {
		return fmt.Sprintf("the command %q may fit", name)
	}
	return fmt.Sprintf("%s %q", surely, name)
}

// surely introduces the explanation of a matching command.
const surely = "it runs"
