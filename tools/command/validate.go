package command

import (
	"path"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Validate checks the settings without looking for the program, since another machine may run it.
// Paths are relative to the tool. The registry checks that parameters is a JSON Schema.
func (c *config) Validate() diag.List {
	list := c.checkCommand()
	_, more := c.compileStdin()
	list = append(list, more...)
	if strings.Contains(c.Dir, "\x00") {
		list = append(list, diag.New(diag.InvalidValue, "dir", "dir has a NUL character"))
	}
	list = append(list, tools.CheckEnvironment(c.Env)...)
	if _, set := c.Env[keyVariable]; set {
		list = append(list, diag.New(diag.InvalidValue, diag.Key("env", keyVariable), keyVariable+" is set by the runtime, anew for each call"))
	}
	list = append(list, spec.CheckShorthand("parameters", c.Parameters)...)
	return append(list, tools.CheckSettings(c.toolEffect(), c.Timeout, tools.OutputLimit(c.MaxOutput))...)
}

// checkCommand checks the program and its arguments. Its messages do not quote them, because they
// may contain a secret.
func (c *config) checkCommand() diag.List {
	if len(c.Command) == 0 {
		return diag.List{diag.New(diag.MissingField, "command", "command is required").
			WithHint("list the program and its arguments, as in [wc, -w]")}
	}
	var list diag.List
	if strings.TrimSpace(c.Command[0]) == "" {
		list = append(list, diag.New(diag.InvalidValue, "command[0]", "the name of the program is empty"))
	} else if strings.ContainsAny(strings.TrimSpace(c.Command[0]), " \t\n") && !strings.ContainsAny(c.Command[0], `/\`) {
		list = append(list, diag.New(diag.InvalidValue, "command[0]", "the name of the program contains spaces").
			WithHint("write the program and its arguments as separate elements, as in [wc, -w]"))
	}
	for i, word := range c.Command {
		at := diag.Index("command", i)
		if strings.Contains(word, "\x00") {
			list = append(list, diag.New(diag.InvalidValue, at, "a command must not have NUL characters"))
		}
		if i > 0 && (word == "|" || word == "&&") && path.Base(c.Command[0]) != "expr" {
			list = append(list, diag.New(diag.InvalidValue, at, "the command is started without a shell, which %s needs", word).
				WithHint("write [sh, -c, …]"))
		}
	}
	_, more := c.compileCommand()
	return append(list, more...)
}
