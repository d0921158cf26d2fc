package workspace

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/gitrepo"
)

// maxCheckouts is the maximum number of checkouts in a workspace.
const maxCheckouts = 32

// Request is a request for checkouts of git repositories that a session works in.
type Request struct {
	Checkouts []Checkout `json:"checkouts"`
	// Cwd is the initial directory: a path below the workspace, in one of the checkouts.
	Cwd string `json:"cwd"`
}

// Checkout is a repository at a path of the workspace.
type Checkout struct {
	URL string `json:"url"`
	// Ref is a branch, a tag or a commit; empty means the default branch.
	Ref  string `json:"ref,omitempty"`
	Path string `json:"path"`
	// Commit is the commit that was checked out; not set in requests.
	Commit string `json:"commit,omitempty"`
}

// InvalidError means that no server could fulfill a request.
type InvalidError struct {
	// Field is the invalid part of the request, such as checkouts[0].url.
	Field, Problem string
}

// Error names the field and the problem. It does not repeat addresses, which may have
// credentials.
func (e *InvalidError) Error() string { return diag.Sentence(e.Field, e.Problem) }

// Validate checks the request by itself, before a policy decides whether it is allowed. The error
// is an *InvalidError.
func (r *Request) Validate() error {
	if n := len(r.Checkouts); n == 0 || n > maxCheckouts {
		return &InvalidError{"checkouts", fmt.Sprintf("there must be between 1 and %d", maxCheckouts)}
	}
	paths := make([]string, len(r.Checkouts))
	for i := range r.Checkouts {
		c, at := &r.Checkouts[i], fmt.Sprintf("checkouts[%d].", i)
		if problem := gitrepo.Problem(c.URL); problem != "" {
			return &InvalidError{at + "url", problem}
		}
		if problem := refProblem(c.Ref); problem != "" {
			return &InvalidError{at + "ref", problem}
		}
		if problem := pathProblem(c.Path); problem != "" {
			return &InvalidError{at + "path", problem}
		}
		paths[i] = path.Clean(c.Path)
		for j, other := range paths[:i] {
			if overlaps(paths[i], other) {
				return &InvalidError{at + "path", fmt.Sprintf("overlaps the path of checkouts[%d]", j)}
			}
		}
	}
	if problem := pathProblem(r.Cwd); problem != "" {
		return &InvalidError{"cwd", problem}
	}
	if !slices.ContainsFunc(paths, func(dir string) bool { return isWithin(path.Clean(r.Cwd), dir) }) {
		return &InvalidError{"cwd", "must lie in one of the checkouts"}
	}
	return nil
}

// refProblem returns why a text cannot name a branch, a tag or a commit, or "". Empty means the
// default branch.
func refProblem(ref string) string {
	switch {
	case strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "+"):
		return "must not begin with - or +"
	case !gitrepo.IsPlainText(ref) || strings.ContainsAny(ref, ` \:^~?*[`) || strings.Contains(ref, "..") || strings.Contains(ref, "@{"):
		return "must be the name of a branch, a tag or a commit"
	}
	return ""
}

// pathProblem returns why a text is not a path below the workspace, or "".
func pathProblem(name string) string {
	clean := path.Clean(name)
	switch {
	case name == "" || path.IsAbs(name) || clean == ".":
		return "relative path is required"
	case !gitrepo.IsPlainText(name) || strings.ContainsAny(name, `\:`):
		return "must not have backslashes, colons or control characters"
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "leads out of the workspace"
	}
	for element := range strings.SplitSeq(clean, "/") {
		if strings.EqualFold(element, ".git") {
			return "must not lead into .git"
		}
		if strings.HasPrefix(element, "-") {
			return "its elements must not begin with -"
		}
	}
	return ""
}

// overlaps reports whether two clean paths are equal or one lies in the other. Paths that differ
// only in case are the same on some systems.
func overlaps(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return isWithin(a, b) || isWithin(b, a)
}

// isWithin reports whether a clean path is a directory or lies in it.
func isWithin(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
