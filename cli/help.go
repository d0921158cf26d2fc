package cli

import (
	_ "embed"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/spf13/cobra"
)

// helpGroups are the sections of the help, with their commands.
var helpGroups = []struct {
	id, title string
	commands  []string
}{
	{"config", "Write and check a configuration:", []string{"init", "schema", "validate", "explain", "diff", "eval", "models", "doctor"}},
	{"work", "Run and serve agents:", []string{"run", "chat", "serve", "mcp", "provider"}},
	{"store", "Look at and change what is stored:", []string{"sessions", "turns", "events", "workflows", "revisions", "apply", "tenants", "migrate"}},
	{"shell", "Keys and the shell:", []string{"login", "logout", "keys", "completion", "man", "help", "version"}},
}

// ownGroup is the help section of a team's own commands.
const ownGroup = "own"

// exampleText has the examples in the help of each command, below a line with its name.
//
//go:embed examples.txt
var exampleText string

// arrangeHelp groups the commands under titles and adds their examples.
func arrangeHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, g := range helpGroups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range g.commands {
			for _, cmd := range root.Commands() {
				if cmd.Name() == name {
					cmd.GroupID = g.id
				}
			}
		}
	}
	examples := map[string]string{}
	for block := range strings.SplitSeq("\n"+exampleText, "\n# "+terminal.DefaultName) {
		path, text, _ := strings.Cut(block, "\n")
		examples[path] = strings.TrimSpace(text)
	}
	giveExamples(root, root.Name(), examples)
}

// giveExamples adds the examples of a command and its subcommands, for a program of the given name.
func giveExamples(cmd *cobra.Command, program string, examples map[string]string) {
	if text := examples[strings.TrimPrefix(cmd.CommandPath(), program)]; text != "" {
		cmd.Example = "  " + strings.NewReplacer("\n", "\n  ", terminal.DefaultName, program).Replace(text)
	}
	for _, below := range cmd.Commands() {
		giveExamples(below, program, examples)
	}
}
