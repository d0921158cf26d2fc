package workspace

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// maxConfiguredFile is the largest max_file, in bytes.
const maxConfiguredFile = 64 << 20

// Validate checks the settings without looking for the root or the programs, since another
// machine may run them. Paths are relative to the entry.
func (c *Config) Validate() diag.List {
	list := c.checkRoot()
	list = append(list, c.checkPrograms()...)
	list = append(list, tools.CheckEnvironment(c.Env)...)
	if c.MaxFile < 0 || c.MaxFile > maxConfiguredFile {
		list = append(list, diag.New(diag.InvalidValue, "max_file", "max_file is %d; it must be from 1 to %d", c.MaxFile, maxConfiguredFile))
	}
	return append(list, tools.CheckSettings(tools.Read, c.Timeout, c.outputLimit())...)
}

func (c *Config) checkRoot() diag.List {
	var list diag.List
	switch {
	case c.Root != "" && strings.TrimSpace(c.Root) == "":
		list = append(list, diag.New(diag.InvalidValue, "root", "root is blank").WithHint("name the directory that the tools work in, or leave root out for the workspace of the session"))
	case strings.Contains(c.Root, "\x00"):
		list = append(list, diag.New(diag.InvalidValue, "root", "root has a NUL character"))
	}
	if c.Prefix != nil && *c.Prefix != "" {
		list = append(list, spec.CheckToolID("prefix", *c.Prefix)...)
	}
	return list
}

func (c *Config) checkPrograms() diag.List {
	var list diag.List
	for i, name := range c.Programs {
		path := diag.Index("programs", i)
		switch {
		case strings.TrimSpace(name) == "" || strings.Contains(name, "\x00"):
			list = append(list, diag.New(diag.InvalidValue, path, "invalid name of a program"))
		case strings.ContainsAny(name, " \t") && !strings.ContainsAny(name, `/\`):
			list = append(list, diag.New(diag.InvalidValue, path, "a program must not have arguments; the model chooses them").
				WithHint("write %s", strings.Fields(name)[0]))
		case slices.Contains(c.Programs[:i], name):
			list = append(list, diag.New(diag.InvalidValue, path, "the program is listed twice"))
		}
	}
	if c.ReadOnly && len(c.Programs) > 0 {
		list = append(list, diag.New(diag.InvalidValue, "read_only", "programs may change files, and read_only is set").
			WithHint("leave out programs, or read_only"))
	}
	switch c.Network {
	case "", networkNone, networkHost:
	default:
		list = append(list, diag.New(diag.InvalidValue, "network", "network is %q; allowed are %s and %s", c.Network, networkNone, networkHost))
	}
	if c.Network != "" && len(c.Programs) == 0 {
		list = append(list, diag.New(diag.InvalidValue, "network", "network is about programs, and programs lists none"))
	}
	return list
}
