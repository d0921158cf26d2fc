package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/internal/redact"
)

const (
	// pipeDelay is how long to wait for output after git has ended, if a process that it started
	// still holds its pipes.
	pipeDelay = time.Second
	// maxMessage limits the output of git that is shown, in bytes.
	maxMessage = 1 << 10
	// minSecret is the minimum length of a configured variable's value to be redacted, in bytes.
	minSecret = 6
	// firstMeasure is when the size of a workspace is first measured. At most one part in
	// measureShare of the time is spent measuring.
	firstMeasure = 100 * time.Millisecond
	measureShare = 10
	// entrySize is the minimum size counted per file, in bytes, so that empty files are also
	// limited.
	entrySize = 4 << 10
)

// gitOptions precede every git command. They disable hooks, credential helpers, programs of a
// repository and background work, and prevent redirects to other repositories.
var gitOptions = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.askPass=", "credential.helper=", "credential.interactive=false",
	// Processes left behind by a killed git exit once the server is silent.
	"http.lowSpeedLimit=1", "http.lowSpeedTime=60",
	"submodule.recurse=false", "fetch.recurseSubmodules=false", "protocol.ext.allow=never", "http.followRedirects=false",
	"gc.auto=0", "maintenance.auto=false", "advice.detachedHead=false", "init.defaultBranch=main", "init.templateDir=",
}

// inherited are the variables that git inherits from the runtime.
var inherited = []string{"PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_AUTH_SOCK"}

// environment returns the variables of git: it reads no user or system configuration and never
// prompts.
func (m *Manager) environment(root string) []string {
	fixed := map[string]string{
		"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_ATTR_NOSYSTEM": "1",
		"GIT_ALLOW_PROTOCOL": strings.Join(m.settings.Protocols, ":"), "GIT_PROTOCOL_FROM_USER": "0", "GIT_CEILING_DIRECTORIES": root,
		"GIT_ASKPASS": "", "SSH_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C",
	}
	env := process.EnvironmentWith(inherited, m.settings.Env)
	if _, configured := m.settings.Env["GIT_SSH_COMMAND"]; !configured {
		fixed["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes -oPermitLocalCommand=no -oClearAllForwardings=yes"
	}
	env = slices.DeleteFunc(env, func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		_, ours := fixed[name]
		return ours
	})
	for name, value := range fixed {
		env = append(env, name+"="+value)
	}
	return env
}

// gitError reports a failed git command.
type gitError struct{ message string }

// Error returns git's output about the failure.
func (e *gitError) Error() string { return e.message }

// sizeError means that a workspace exceeds its size limit.
type sizeError struct{ limit int64 }

// Error names the limit.
func (e *sizeError) Error() string {
	return fmt.Sprintf("it has more than %d bytes: workspaces.max_bytes", e.limit)
}

// runGit runs a git command in a directory and returns its output. It stops with ctx, or when the
// workspace grows too large.
func (m *Manager) runGit(ctx context.Context, root, dir string, args ...string) (string, error) {
	path, err := process.Find("git", dir, nil)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var words []string
	for _, option := range gitOptions {
		words = append(words, "-c", option)
	}
	cmd := exec.CommandContext(limited, path, append(words, args...)...) //nolint:gosec // fixed commands; what comes from a request is checked and stands after --
	stdout, stderr := &process.Head{Limit: maxMessage}, &process.Tail{Limit: maxMessage}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, m.environment(root), stdout, stderr
	cmd.Cancel = func() error { return process.Kill(cmd) }
	cmd.WaitDelay = pipeDelay
	process.Separate(cmd)
	var watching sync.WaitGroup
	watching.Go(func() { m.watchSize(limited, root, cancel) })
	err = process.RunTied(cmd)
	cause := context.Cause(limited)
	cancel(nil)
	watching.Wait()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case cause != nil:
		return "", cause
	case failed:
		return "", &gitError{m.hideSecrets(root, stderr.Text(), exit)}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", process.Refused("git", dir, err)
	}
	return strings.TrimSpace(string(stdout.Kept())), m.checkSize(root)
}

// hideSecrets returns git's output about a failure, without configured values and local paths.
func (m *Manager) hideSecrets(root, text string, exit *exec.ExitError) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	for _, value := range m.settings.Env {
		if len(value) >= minSecret {
			text = strings.ReplaceAll(text, value, redact.Placeholder)
		}
	}
	text = strings.ReplaceAll(text, root+string(filepath.Separator), "")
	if text = strings.TrimSpace(strings.ReplaceAll(text, root, "the workspace")); text == "" {
		return "git ended with " + exit.String()
	}
	return clip.At(maxMessage, text)
}

// watchSize ends a command once the workspace is too large.
func (m *Manager) watchSize(ctx context.Context, root string, stop context.CancelCauseFunc) {
	timer := time.NewTimer(firstMeasure)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		if err := m.checkSize(root); err != nil {
			stop(err)
			return
		}
		timer.Reset(max(firstMeasure, measureShare*time.Since(began)))
	}
}

// checkSize returns a *sizeError for a workspace that is too large.
func (m *Manager) checkSize(root string) error {
	var total int64
	err := filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what is gone by now takes no room
		}
		if info, err := entry.Info(); err == nil {
			total += max(info.Size(), entrySize)
		}
		if total > m.settings.MaxBytes {
			return &sizeError{m.settings.MaxBytes}
		}
		return nil
	})
	return err
}
