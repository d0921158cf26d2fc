package remote

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/spf13/cobra"
)

// maxTarget limits a file with a target, an input or event data, in bytes.
const maxTarget = 1 << 20

// readJSON reads a file with JSON, or in for "-".
func readJSON(in io.Reader, flag, path string) (json.RawMessage, error) {
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		defer func() { _ = file.Close() }() // it is only read
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxTarget+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", flag, err)
	case len(data) > maxTarget:
		return nil, fmt.Errorf("%s: it has more than %d bytes", flag, maxTarget)
	case !json.Valid(data):
		return nil, fmt.Errorf("%s: not JSON", flag)
	}
	return data, nil
}

// readObject returns the object given by flags, as members or a file; nil if neither is given.
func readObject(cmd *cobra.Command, in io.Reader, members map[string]json.RawMessage, fileFlag, path string) (json.RawMessage, error) {
	switch {
	case path != "" && members != nil:
		return nil, command.Usagef(cmd, "--%s excludes flags for single values", fileFlag)
	case path != "":
		return readJSON(in, "--"+fileFlag, path)
	case members == nil:
		return nil, nil
	}
	return json.Marshal(members)
}
