package cli

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/spf13/cobra"
)

//go:embed init.yaml
var initConfig []byte

// schemaSuffix is the suffix of the schema file named by a new configuration.
const schemaSuffix = ".schema.json"

func newInit(p *program) *cobra.Command {
	what := "a small configuration that runs without keys"
	if !p.hasDemo() {
		what = "a small configuration"
	}
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a small working configuration",
		Long: "init writes " + what + `, config.yaml unless
another file is named, and beside it the JSON Schema that its first line points
editors to. It overwrites no configuration.`,
		Args: command.Arguments(0, 1),
	}
	command.AddFormatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file := "config.yaml"
		if len(args) > 0 {
			file = args[0]
		}
		text := p.starter()
		if text == nil {
			p.PrintErrorf("this program has no provider kinds, so it cannot run agents")
			return command.Exit(command.Failed)
		}
		written, err := writeInit(file, text, p.Command()+schemaSuffix, config.Schema(p.ConfigKinds()))
		if err != nil {
			return err
		}
		done := fmt.Sprintf("wrote %s and %s\nnext: %s validate %s\n      %s run %s assistant \"How many words are in this question?\"\n",
			written[0], written[1], p.Command(), file, p.Command(), file)
		return command.NewOutput(&p.Streams, cmd, command.Unredacted).Show(map[string][]string{"files": written}, done)
	}
	return cmd
}

// hasDemo reports whether the program has the components of init.yaml.
func (p *program) hasDemo() bool {
	provider := slices.ContainsFunc(p.Kinds.Providers, func(k model.ProviderKind) bool { return k.Type == "scripted" })
	tool := slices.ContainsFunc(p.Kinds.Tools, func(k tools.Kind) bool { return k.Type == "command" })
	return provider && tool
}

// starter returns a configuration that uses the program's components, or nil if it has no provider.
func (p *program) starter() []byte {
	if p.hasDemo() {
		return bytes.ReplaceAll(initConfig, []byte(terminal.DefaultName+schemaSuffix), []byte(p.Command()+schemaSuffix))
	}
	text := config.Starter(p.ConfigKinds())
	if text == nil {
		return nil
	}
	return append([]byte("# yaml-language-server: $schema="+p.Command()+schemaSuffix+"\n"), text...)
}

// writeInit writes the configuration and its schema, and returns their names.
func writeInit(file string, text []byte, schemaName string, schema []byte) ([]string, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a configuration without secrets
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists already; name another file", file)
	}
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", file, err)
	}
	beside := filepath.Join(filepath.Dir(file), schemaName)
	if err := os.WriteFile(beside, schema, 0o644); err != nil { //nolint:gosec // as above
		return nil, fmt.Errorf("write %s: %w", beside, err)
	}
	return []string{file, beside}, nil
}
