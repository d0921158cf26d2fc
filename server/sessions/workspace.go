package sessions

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCheckouts is how many checkouts a workspace may have.
const maxCheckouts = 32

// workspaceRequest asks for checkouts of git repositories that the session works in.
type workspaceRequest struct {
	Checkouts []checkoutRequest `json:"checkouts"`
	Cwd       string            `json:"cwd"`
}

// checkoutRequest asks for a repository at a path of the workspace.
type checkoutRequest struct {
	URL  string `json:"url"`
	Ref  string `json:"ref"`
	Path string `json:"path"`
}

// validate checks what the request asks for, before the policy of the server decides
// whether it is allowed. The errors do not repeat addresses, which may have credentials.
func (w *workspaceRequest) validate() error {
	if n := len(w.Checkouts); n == 0 || n > maxCheckouts {
		return badRequest("workspace.checkouts must have between 1 and %d entries", maxCheckouts)
	}
	paths := make([]string, len(w.Checkouts))
	for i, checkout := range w.Checkouts {
		if problem := repositoryProblem(checkout.URL); problem != "" {
			return badRequest("workspace.checkouts[%d].url: %s", i, problem)
		}
		if problem := refProblem(checkout.Ref); problem != "" {
			return badRequest("workspace.checkouts[%d].ref: %s", i, problem)
		}
		if problem := pathProblem(checkout.Path); problem != "" {
			return badRequest("workspace.checkouts[%d].path: %s", i, problem)
		}
		paths[i] = path.Clean(checkout.Path)
		for j, other := range paths[:i] {
			if overlaps(paths[i], other) {
				return badRequest("workspace.checkouts[%d].path: it overlaps with that of checkouts[%d]", i, j)
			}
		}
	}
	if problem := pathProblem(w.Cwd); problem != "" {
		return badRequest("workspace.cwd: %s", problem)
	}
	if !slices.ContainsFunc(paths, func(dir string) bool { return isWithin(path.Clean(w.Cwd), dir) }) {
		return badRequest("workspace.cwd: it must lie in one of the checkouts")
	}
	return nil
}

// scpAddress matches the short form of an SSH address. No part of it begins with a hyphen,
// which git or ssh would take for an option.
var scpAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*@([A-Za-z0-9][A-Za-z0-9.-]*):([^-:].*)$`)

// hostName matches the names of hosts.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

// userName matches the names of SSH users.
var userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// repositoryProblem returns why an address is not one of a repository, or "".
func repositoryProblem(address string) string {
	switch {
	case address == "":
		return "address of a repository is required"
	case !isPlainText(address) || strings.ContainsAny(address, ` \`):
		return "it must not have spaces, backslashes or control characters"
	case strings.ContainsAny(address, "?#"):
		return "it must not have a query or a fragment"
	}
	if scheme, _, found := strings.Cut(address, "://"); !found || strings.Contains(scheme, "::") {
		match := scpAddress.FindStringSubmatch(address)
		if match == nil {
			return "it must begin with https, http, ssh, git or file and ://, or have the form user@host:path"
		}
		return repositoryPathProblem(match[2])
	}
	u, err := url.Parse(address)
	if err != nil {
		return "it is not a valid URL"
	}
	if problem := authorityProblem(u); problem != "" {
		return problem
	}
	return repositoryPathProblem(strings.TrimPrefix(u.Path, "/"))
}

// authorityProblem returns why a scheme, a user or a host cannot be used, or "".
func authorityProblem(u *url.URL) string {
	switch u.Scheme {
	case "https", "http", "git", "ssh":
		if _, err := netip.ParseAddr(u.Hostname()); err != nil && !hostName.MatchString(u.Hostname()) {
			return "its host is invalid"
		}
	case "file":
		if u.Host != "" {
			return "a file has no host"
		}
	default:
		return "its scheme must be https, http, ssh, git or file"
	}
	if u.User == nil {
		return ""
	}
	// The user of SSH says whom to log in as and is no secret.
	_, secret := u.User.Password()
	if secret || u.Scheme != "ssh" || !userName.MatchString(u.User.Username()) {
		return "it must not have credentials"
	}
	return ""
}

// repositoryPathProblem returns why the decoded path of a repository cannot be used, or "".
// Elements that lead elsewhere would let a repository look like another one.
func repositoryPathProblem(name string) string {
	elements := strings.Split(name, "/")
	switch {
	case strings.Trim(name, "/") == "":
		return "it must have the path of a repository"
	case !isPlainText(name) || strings.Contains(name, `\`):
		return "its path must not have backslashes or control characters"
	case slices.Contains(elements, ".") || slices.Contains(elements, ".."):
		return `its path must not have "." or ".."`
	}
	return ""
}

// refProblem returns why a text cannot name a branch, a tag or a commit, or "". An empty
// one stands for the default branch.
func refProblem(ref string) string {
	switch {
	case strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "+"):
		return "it must not begin with - or +"
	case !isPlainText(ref) || strings.ContainsAny(ref, ` \:^~?*[`) || strings.Contains(ref, "..") || strings.Contains(ref, "@{"):
		return "it must be the name of a branch, a tag or a commit"
	}
	return ""
}

// pathProblem returns why a text is not a path below the workspace, or "".
func pathProblem(name string) string {
	clean := path.Clean(name)
	switch {
	case name == "" || path.IsAbs(name) || clean == ".":
		return "relative path is required"
	case !isPlainText(name) || strings.ContainsAny(name, `\:`):
		return "it must not have backslashes, colons or control characters"
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "it leads out of the workspace"
	}
	for element := range strings.SplitSeq(clean, "/") {
		if strings.EqualFold(element, ".git") {
			return "it must not lead into .git"
		}
		if strings.HasPrefix(element, "-") {
			return "its elements must not begin with -"
		}
	}
	return ""
}

// overlaps reports whether one of two clean paths is, or lies in, the other one. Paths that
// differ in case alone are the same on some systems.
func overlaps(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return isWithin(a, b) || isWithin(b, a)
}

// isWithin reports whether a clean path is a directory or lies in it.
func isWithin(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// isPlainText reports whether a text is UTF-8 without control characters.
func isPlainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
