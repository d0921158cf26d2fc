package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/tools"
)

// compileStdin compiles the template of the standard input. It returns nil if absent.
func (c *config) compileStdin() (*element, diag.List) {
	if c.Stdin == nil {
		return nil, nil
	}
	parts, err := tools.ParsePlaceholders(*c.Stdin)
	if err != nil {
		return nil, diag.List{diag.New(diag.InvalidValue, "stdin", "%s", err).WithHint(bracesHint)}
	}
	declared := tools.DeclaredParameters(c.Parameters)
	list := declared.Check("stdin", argumentNames(parts))
	if onlyName(parts) == "" {
		list = append(list, checkRequired("stdin", parts, &declared, "is a part of the text, so that calls must have it")...)
	}
	if !isFixed(parts) && c.readsCode() {
		list = append(list, diag.New(diag.InvalidValue, "stdin", "arguments must not become the code that an interpreter runs").
			WithHint("name a script in command that reads the text from its standard input"))
	}
	return &element{parts: parts, optional: onlyName(parts) != ""}, list
}

// readsCode reports whether the program is an interpreter that reads code from standard input.
func (c *config) readsCode() bool {
	words := c.Command
	if len(words) > 0 && path.Base(words[0]) == "env" {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	if len(words) == 0 || !interpreter.MatchString(path.Base(strings.ReplaceAll(words[0], `\`, "/"))) {
		return false
	}
	for _, word := range words[1:] {
		switch {
		case word == "-", word == "-s":
			return true
		case codeOption.MatchString(word), !strings.HasPrefix(word, "-"):
			return false
		}
	}
	return true
}

// renderInput returns the standard input of a call: the filled template, or without a template the
// arguments as one line of JSON. Its errors are for the model.
func (l *commandLine) renderInput(raw json.RawMessage) ([]byte, error) {
	if l.stdin == nil {
		return inputLine(raw)
	}
	args, err := tools.DecodeArguments(raw)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, p := range l.stdin.parts {
		switch {
		case p.Name == "":
			b.WriteString(p.Literal)
		case args.Has(p.Name):
			value, err := argumentText(args, p.Name)
			if err != nil {
				return nil, err
			}
			b.WriteString(value)
		case !l.stdin.optional:
			return nil, errors.New("argument " + p.Name + " is required")
		}
	}
	return b.Bytes(), nil
}

// inputLine returns the arguments as one line of JSON, which programs can read as a message.
func inputLine(arguments json.RawMessage) ([]byte, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	var line bytes.Buffer
	if err := json.Compact(&line, arguments); err != nil {
		return nil, tools.ErrArguments
	}
	line.WriteByte('\n')
	return line.Bytes(), nil
}
