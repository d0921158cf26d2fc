package settings

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/gitrepo"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
)

// The defaults of workspaces.
const (
	defaultPrepareTimeout = 10 * time.Minute
	defaultWorkspaceBytes = 2 << 30
	minWorkspaceBytes     = 1 << 20
)

// gitProtocols are the protocols that git may be allowed to use; the first two are the default.
var gitProtocols = []string{"https", "ssh", "http", "git", "file"}

// Workspaces configures the directories that sessions work in. Absent fields have the
// defaults named in their descriptions.
type Workspaces struct {
	Dir            string         `json:"dir,omitempty" path:"true" doc:"The parent directory of workspaces. Defaults to .runtime/workspaces beside the first configuration file. Processes on several machines that run the same sessions must share it."`
	PrepareTimeout *spec.Duration `json:"prepare_timeout,omitempty" default:"10m" doc:"Time limit for the checkouts of a workspace. After it, git is killed and the session does not start."`
	MaxBytes       *int           `json:"max_bytes,omitempty" min:"1048576" default:"2147483648" doc:"Maximum size of a new workspace, in bytes. Every file counts as at least 4096 bytes."`
	Git            WorkspaceGit   `json:"git,omitzero" doc:"Which repositories may be checked out, and how."`
	PreparedRoots  []string       `json:"prepared_roots,omitempty" doc:"Absolute paths of directories below which a host of \"provider serve\" may hand over prepared workspaces. Defaults to none."`
}

// WorkspaceGit configures the checkouts of workspaces.
type WorkspaceGit struct {
	AllowedRepositories []string          `json:"allowed_repositories,omitempty" doc:"Patterns of repositories that may be checked out, as host and path without .git: github.com/acme/*. An unusual port is included, as in git.example.com:8443/*. Files have no host, as in /srv/git/*. If empty, sessions cannot request workspaces."`
	Protocols           []string          `json:"protocols,omitempty" enum:"https|ssh|http|git|file" doc:"Protocols that git may use. Defaults to https and ssh. http and git are not encrypted, and file reads repositories on this machine."`
	Env                 map[string]string `json:"env,omitempty" secret:"true" doc:"Environment variables of git, for credentials: GIT_SSH_COMMAND, or GIT_CONFIG_COUNT with GIT_CONFIG_KEY_0 and GIT_CONFIG_VALUE_0. git inherits only PATH, TMPDIR, SSL_CERT_FILE, SSL_CERT_DIR and SSH_AUTH_SOCK, and reads no user or system configuration."`
}

// MarshalJSON writes the record without the values of environment variables,
// which may be secret.
func (g WorkspaceGit) MarshalJSON() ([]byte, error) {
	type plain WorkspaceGit
	g.Env = redact.Values(g.Env)
	return json.Marshal(plain(g))
}

// On reports whether sessions can have workspaces.
func (w *Workspaces) On() bool { return len(w.Git.AllowedRepositories) > 0 || len(w.PreparedRoots) > 0 }

// PrepareTime returns how long creating the checkouts of a workspace may take.
func (w *Workspaces) PrepareTime() time.Duration {
	return orDefault(w.PrepareTimeout, spec.Duration(defaultPrepareTimeout)).Std()
}

// Bytes returns the size limit of a new workspace.
func (w *Workspaces) Bytes() int64 { return int64(orDefault(w.MaxBytes, defaultWorkspaceBytes)) }

// AllowedProtocols returns the protocols that git may use.
func (g *WorkspaceGit) AllowedProtocols() []string {
	if len(g.Protocols) == 0 {
		return gitProtocols[:2:2]
	}
	return g.Protocols
}

// Validate checks the record by itself, without accessing directories or git.
func (w *Workspaces) Validate() diag.List {
	list := check.PositiveSpan("prepare_timeout", w.PrepareTimeout)
	if w.MaxBytes != nil && *w.MaxBytes < minWorkspaceBytes {
		list = append(list, diag.New(diag.InvalidValue, "max_bytes", "max_bytes is %d; it must be %d or more", *w.MaxBytes, minWorkspaceBytes))
	}
	list = append(list, check.Within("git", w.Git.validate())...)
	for i, dir := range w.PreparedRoots {
		if !strings.HasPrefix(dir, "/") && !isDrivePath(dir) || strings.Contains(dir, "\x00") {
			list = append(list, diag.New(diag.InvalidValue, diag.Index("prepared_roots", i), "%q is not an absolute path", clip.Text(dir)).
				WithHint("hosts name workspaces by absolute paths, such as /srv/workspaces/s1"))
		}
	}
	return append(list, w.warnNoEffect()...)
}

// isDrivePath reports whether a path begins with a drive.
func isDrivePath(dir string) bool {
	return len(dir) > 2 && dir[1] == ':' && (dir[2] == '\\' || dir[2] == '/')
}

// validate checks the record by itself. Paths are relative to it.
func (g *WorkspaceGit) validate() diag.List {
	var list diag.List
	for i, glob := range g.AllowedRepositories {
		at := diag.Index("allowed_repositories", i)
		switch p, err := gitrepo.Compile(glob); {
		case err != nil:
			list = append(list, diag.New(diag.InvalidPattern, at, "%q is not a pattern of repositories: %v", clip.Text(glob), err).
				WithHint("write a host and a path, such as github.com/acme/*, or for files a path such as /srv/git/*"))
		case p.IsFile() && !slices.Contains(g.AllowedProtocols(), "file"):
			list = append(list, diag.New(diag.NoEffect, at, "%q has no effect: file is not one of protocols", clip.Text(glob)).
				WithHint("write protocols: [https, ssh, file]"))
		}
	}
	for i, name := range g.Protocols {
		list = append(list, check.OneOf(diag.Index("protocols", i), name, gitProtocols...)...)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(g.Env[name], "\x00") {
			list = append(list, diag.New(diag.InvalidValue, diag.Key("env", name), "invalid environment variable"))
		}
	}
	return list
}

// warnNoEffect warns of checkout settings that have no effect because checkouts are disabled.
func (w *Workspaces) warnNoEffect() diag.List {
	var list diag.List
	if len(w.Git.AllowedRepositories) > 0 {
		return nil
	}
	const off = "%s has no effect: git.allowed_repositories is empty, so nothing is checked out"
	warnIneffective(&list, w.Dir != "", "dir", off, "dir")
	warnIneffective(&list, w.PrepareTimeout != nil, "prepare_timeout", off, "prepare_timeout")
	warnIneffective(&list, w.MaxBytes != nil, "max_bytes", off, "max_bytes")
	warnIneffective(&list, len(w.Git.Protocols) > 0, "git.protocols", off, "protocols")
	warnIneffective(&list, len(w.Git.Env) > 0, "git.env", off, "env")
	return list
}
