package command

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/tools"
)

// commandLine is the part of the command line after the program.
type commandLine struct {
	elements []element
	// stdin is the template of the standard input; nil for the arguments as JSON.
	stdin *element
	// allowDash holds the arguments that may begin with '-' anywhere.
	allowDash map[string]bool
	// filled reports whether there are placeholders.
	filled bool
}

// compileCommand compiles the elements of the command after the program. Its messages do not quote
// them, because they may contain a secret.
func (c *config) compileCommand() (commandLine, diag.List) {
	line := commandLine{allowDash: make(map[string]bool)}
	var list diag.List
	declared := tools.DeclaredParameters(c.Parameters)
	used := make(map[string]bool)
	for i, word := range c.Command {
		path := diag.Index("command", i)
		parts, err := tools.ParsePlaceholders(word)
		if err != nil {
			list = append(list, diag.New(diag.InvalidValue, path, "%s", err).WithHint(bracesHint))
			continue
		}
		if i == 0 {
			if !isFixed(parts) {
				list = append(list, diag.New(diag.InvalidValue, path, "the program must not contain a placeholder: arguments cannot choose the program"))
			}
			continue
		}
		maps.Copy(used, argumentNames(parts))
		line.filled = line.filled || !isFixed(parts)
		line.elements = append(line.elements, element{parts: parts, optional: onlyName(parts) != "" || isOption(parts), guarded: c.isGuarded(i, parts)})
		list = append(list, declared.Check(path, argumentNames(parts))...)
		list = append(list, c.checkOptional(path, i, parts, &declared)...)
		list = append(list, c.checkCode(path, i, parts)...)
	}
	for i, name := range c.AllowDash {
		line.allowDash[name] = true
		if !used[name] && !list.HasErrors() {
			list = append(list, unusedDash(diag.Index("allow_dash", i), name, used))
		}
	}
	return line, list
}

// unusedDash returns the diagnostic for an entry of allow_dash that no placeholder uses.
func unusedDash(path, name string, used map[string]bool) diag.Diagnostic {
	wrong := diag.New(diag.InvalidValue, path, "no placeholder of the command is {{%s}}", name)
	if near, ok := nearest.Of(name, slices.Sorted(maps.Keys(used))); ok {
		wrong = wrong.WithHint("did you mean %q?", near)
	}
	return wrong
}

// isGuarded reports whether an element begins with an argument that the program could take for an
// option. It cannot do so directly after "--" and the placeholders that follow. A word in between
// may be another program with its own options.
func (c *config) isGuarded(i int, parts []part) bool {
	if len(parts) == 0 || parts[0].Name == "" {
		return false
	}
	for i--; i > 0; i-- {
		before, err := tools.ParsePlaceholders(c.Command[i])
		if err != nil || isFixed(before) {
			return c.Command[i] != "--"
		}
	}
	return true
}

// checkOptional reports arguments that a call may omit although the rest of the command makes no
// sense without them.
func (c *config) checkOptional(path string, i int, parts []part, declared *tools.Declaration) diag.List {
	if isFixed(parts) || isOption(parts) {
		return nil
	}
	name := onlyName(parts)
	if name == "" {
		return checkRequired(path, parts, declared, "is a part of an element, so that calls must have it")
	}
	before := c.Command[i-1]
	if i == 1 || !strings.HasPrefix(before, "-") || before == "--" || before == "-" || strings.Contains(before, "=") {
		return nil
	}
	list := checkRequired(path, parts, declared, "is optional: without it the option before it would take what comes next for its value")
	for j := range list {
		list[j] = list[j].WithHint("add %s to parameters.required, write the option and {{%s}} as one element, or put -- between them", name, name)
	}
	return list
}

// checkRequired reports the arguments of a template that a call may omit.
func checkRequired(path string, parts []part, declared *tools.Declaration, why string) diag.List {
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(argumentNames(parts))) {
		if declared.Open || declared.Requires(name) || declared.Properties[name] == nil {
			continue
		}
		list = append(list, diag.New(diag.InvalidValue, path, "{{%s}} %s", name, why).WithHint("add %s to parameters.required", name))
	}
	return list
}

// renderElements returns the elements with the arguments of a call in their places. Its
// errors are for the model.
func (l *commandLine) renderElements(raw []byte) ([]string, error) {
	var args tools.Arguments
	if l.filled {
		var err error
		if args, err = tools.DecodeArguments(raw); err != nil {
			return nil, err
		}
	}
	words := make([]string, 0, len(l.elements))
	for i := range l.elements {
		word, there, err := l.fillElement(&l.elements[i], args)
		if err != nil {
			return nil, err
		}
		if there {
			words = append(words, word)
		}
	}
	return words, nil
}

// fillElement returns an element filled with the arguments; false leaves it out.
func (l *commandLine) fillElement(e *element, args tools.Arguments) (string, bool, error) {
	var b strings.Builder
	dash := true
	for _, p := range e.parts {
		if p.Name == "" {
			b.WriteString(p.Literal)
			continue
		}
		if !args.Has(p.Name) {
			if e.optional {
				return "", false, nil
			}
			return "", false, errors.New("argument " + p.Name + " is required")
		}
		value, err := elementText(args, p.Name)
		if err != nil {
			return "", false, err
		}
		dash = dash && l.allowDash[p.Name]
		b.WriteString(value)
	}
	word := b.String()
	switch {
	case e.guarded && !dash && strings.HasPrefix(word, "-"):
		return "", false, errors.New("argument " + e.parts[0].Name + " must not begin with '-': it could be taken for an option")
	case len(word) > maxElement:
		return "", false, errors.New("the arguments are too long for a command line")
	default:
		return word, true, nil
	}
}
