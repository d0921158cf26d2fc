package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentruntime/agentruntime/config"
	"github.com/spf13/cobra"
)

//go:embed init.yaml
var initConfig []byte

// schemaName is the file that the schema line of a new configuration names.
const schemaName = "runtime.schema.json"

func newInit(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a small working configuration",
		Long: `init writes a small configuration that runs without keys, config.yaml unless
another file is named, and beside it the JSON Schema that its first line points
editors to. It overwrites no configuration.`,
		Args: arguments(0, 1),
	}
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		file := "config.yaml"
		if len(args) > 0 {
			file = args[0]
		}
		written, err := writeInit(file, config.Schema(p.ConfigKinds()))
		if err != nil {
			return err
		}
		if format.value == "json" {
			return writeJSON(p.out, map[string][]string{"files": written})
		}
		_, err = fmt.Fprintf(p.out, "wrote %s and %s\nnext: runtime validate %s\n      runtime run %s assistant \"How many words has this question?\"\n",
			written[0], written[1], file, file)
		return err
	}
	return cmd
}

// writeInit writes the configuration and the schema beside it, and returns
// their names.
func writeInit(file string, schema []byte) ([]string, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a configuration without secrets
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists already; name another file", file)
	}
	if err != nil {
		return nil, err
	}
	_, err = f.Write(initConfig)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", file, err)
	}
	beside := filepath.Join(filepath.Dir(file), schemaName)
	if err := os.WriteFile(beside, schema, 0o644); err != nil { //nolint:gosec // as above
		return nil, fmt.Errorf("write %s: %w", beside, err)
	}
	return []string{file, beside}, nil
}
