package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// PrepareError reports a workspace that could not be prepared.
type PrepareError struct {
	// Checkout is the path of the failed checkout; empty if the failure was elsewhere.
	Checkout string
	Problem  string
}

// Error names the checkout and the problem.
func (e *PrepareError) Error() string {
	if e.Checkout == "" {
		return "the workspace cannot be prepared: " + e.Problem
	}
	return fmt.Sprintf("the workspace cannot be prepared: checkout %s: %s", e.Checkout, e.Problem)
}

// Prepare creates the checkouts of a request that passed Check, and returns the session's record
// and the workspace. The error is a *PrepareError unless ctx ended.
func (c *Claim) Prepare(ctx context.Context, r *Request) (*Record, *tools.Workspace, error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.manager.settings.Timeout, errTimeUp)
	defer cancel()
	record := &Record{Name: c.name, Cwd: path.Clean(r.Cwd)}
	for _, checkout := range r.Checkouts {
		checkout.Path = path.Clean(checkout.Path)
		commit, err := c.checkOut(limited, &checkout)
		if err != nil {
			return nil, nil, c.explain(ctx, checkout.Path, err)
		}
		checkout.Commit = commit
		record.Checkouts = append(record.Checkouts, checkout)
	}
	w := &tools.Workspace{Root: c.directory(), Cwd: record.Cwd}
	if _, err := w.Directory(); err != nil {
		return nil, nil, &PrepareError{Problem: "cwd is not a directory of a checkout"}
	}
	return record, w, nil
}

// errTimeUp is the cancellation cause of a preparation that takes too long.
var errTimeUp = errors.New("the time is up")

// explain returns why a checkout failed, in the callers' form.
func (c *Claim) explain(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errTimeUp) {
		return &PrepareError{name, fmt.Sprintf("it did not end within %s: workspaces.prepare_timeout", c.manager.settings.Timeout)}
	}
	known := errors.As(err, new(*gitError)) || errors.As(err, new(*sizeError)) || errors.As(err, new(*process.StartError))
	if !known { // it may contain local paths
		c.manager.settings.Logger.Error("preparing a workspace failed", zap.String("checkout", name), zap.Error(err))
		return &PrepareError{name, "the directory cannot be used; see the log of the server"}
	}
	return &PrepareError{name, err.Error()}
}

// checkOut clones a repository, fetches the ref and checks it out. It returns the commit.
func (c *Claim) checkOut(ctx context.Context, checkout *Checkout) (string, error) {
	root := c.directory()
	place := filepath.Join(root, filepath.FromSlash(checkout.Path))
	if err := makeParents(root, checkout.Path); err != nil {
		return "", err
	}
	git := func(dir string, args ...string) (string, error) { return c.manager.runGit(ctx, root, dir, args...) }
	if _, err := git(root, "clone", "--quiet", "--no-checkout", "--no-recurse-submodules", "--origin", "origin", "--template=", "--", checkout.URL, place); err != nil {
		return "", err
	}
	target := "HEAD"
	if checkout.Ref != "" {
		if _, err := git(place, "fetch", "--quiet", "--no-recurse-submodules", "--", "origin", checkout.Ref); err != nil {
			return "", err
		}
		target = "FETCH_HEAD"
	}
	if _, err := git(place, "checkout", "--quiet", "--detach", "--no-recurse-submodules", target, "--"); err != nil {
		return "", err
	}
	return git(place, "rev-parse", "--verify", "HEAD^{commit}")
}

// makeParents creates the parent directories of a checkout.
func makeParents(root, name string) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return dir.MkdirAll(filepath.FromSlash(path.Dir(name)), ownerOnly)
}
