package evals

import (
	"path/filepath"
	"strings"

	"github.com/agentruntime/agentruntime/config"
)

// commander is the configuration of a component that runs a program.
type commander interface {
	// Program returns the program with its arguments, and its working directory, which is empty for
	// the runtime's.
	Program() (command []string, dir string)
}

// commandFiles returns the paths that the commands of a configuration's tools, MCP servers and agent
// providers may mean: programs, scripts and data. Most arguments are no files.
func commandFiles(f *config.File) []string {
	var names []string
	for _, t := range f.Tools {
		names = append(names, wordsAsFiles(t.Config)...)
	}
	for _, p := range f.AgentProviders {
		names = append(names, wordsAsFiles(p.Config)...)
	}
	return names
}

// wordsAsFiles returns the words of a component's command, and the values of its options, as paths.
func wordsAsFiles(config any) (names []string) {
	c, ok := config.(commander)
	if !ok {
		return nil
	}
	command, dir := c.Program()
	for _, word := range command {
		if option, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(option, "-") {
			word = value
		}
		if !filepath.IsAbs(word) {
			word = filepath.Join(dir, word)
		}
		names = append(names, word)
	}
	return names
}
