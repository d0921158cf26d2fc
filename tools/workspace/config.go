// Package workspace is the tool kind workspace: one entry provides the tools for working on the
// files below a root directory: read_file, list_files, grep, write_file, edit_file and
// run_command.
//
// The root is a configured directory or the session's workspace. No path leaves the root, neither
// with ".." nor through a symbolic link, because the operating system opens files relative to it
// (os.Root). Only configured programs run; they are started directly, never through a shell, and
// by default without a network. A running program can access files outside the root with the
// rights of the runtime's user.
package workspace

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// The values of network.
const (
	// networkNone starts programs without a network and isolated from other processes; on systems
	// that cannot do that, programs are not started.
	networkNone = "none"
	// networkHost gives programs access to the network of the runtime's machine.
	networkHost = "host"
)

// Config is the configuration of an entry of this kind.
type Config struct {
	Root     string            `json:"root,omitempty" path:"dir" doc:"The directory that the tools work in. Paths cannot leave it. Defaults to the session's workspace."`
	Prefix   *string           `json:"prefix,omitempty" doc:"The prefix of the tools' ids. Defaults to the id of the entry and '_'. May be empty."`
	ReadOnly bool              `json:"read_only,omitempty" doc:"Leaves out the tools that change files."`
	Programs []string          `json:"programs,omitempty" doc:"The programs that run_command may start, by name. If empty, run_command does not exist."`
	Network  string            `json:"network,omitempty" enum:"none|host" default:"none" doc:"The network of programs. With none, they also run in a separate process namespace, so that everything they start ends with them; if the system cannot do that, they are not started."`
	Env      map[string]string `json:"env,omitempty" secret:"true" doc:"Environment variables of programs. They inherit only PATH, HOME, TMPDIR and LANG."`

	Timeout   *spec.Duration `json:"timeout,omitempty" default:"60s" doc:"Time limit of a call. Then a program and all processes it started are killed."`
	MaxOutput int            `json:"max_output,omitempty" min:"256" max:"1048576" default:"262144" doc:"Maximum bytes of a result for the model; longer results are cut."`
	MaxFile   int            `json:"max_file,omitempty" min:"1" max:"67108864" default:"4194304" doc:"Maximum bytes of a file to edit, write or search."`
}

// Action describes the effect of calls.
func (c *Config) Action() string {
	if c.Root == "" {
		return "works on files of the session's workspace"
	}
	return "works on files below " + c.Root
}

// NeedsWorkspace reports whether the tools can only use the session's workspace.
func (c *Config) NeedsWorkspace() bool { return c.Root == "" }

// defaultMaxFile is the default maximum size of a file, in bytes.
const defaultMaxFile = 4 << 20

// MarshalJSON writes the record without the values of environment variables,
// which may be secret.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.Env = redact.Values(c.Env)
	return json.Marshal(plain(c))
}

// clone returns a copy that shares nothing with the record.
func (c *Config) clone() Config {
	own := *c
	own.Programs, own.Env = slices.Clone(c.Programs), maps.Clone(c.Env)
	return own
}

// toolPrefix returns the prefix of the tool ids of an entry.
func (c *Config) toolPrefix(id string) string {
	if c.Prefix != nil {
		return *c.Prefix
	}
	return id + "_"
}

func (c *Config) outputLimit() int { return tools.OutputLimit(c.MaxOutput) }

func (c *Config) fileLimit() int64 { return int64(cmp.Or(c.MaxFile, defaultMaxFile)) }
