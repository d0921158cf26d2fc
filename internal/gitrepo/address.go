// Package gitrepo parses addresses of git repositories and matches them against patterns. Git and
// ssh never interpret an accepted address as an option or a transport helper.
package gitrepo

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scpAddress matches the short form of an SSH address. No part of it begins with a hyphen,
// which git or ssh would take for an option.
var scpAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*@([A-Za-z0-9][A-Za-z0-9.-]*):([^-:].*)$`)

// hostName matches host names.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

// userName matches SSH user names.
var userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// Problem returns why an address is not a repository address, or "".
func Problem(address string) string {
	switch {
	case address == "":
		return "address of a repository is required"
	case !IsPlainText(address) || strings.ContainsAny(address, ` \`):
		return "must not have spaces, backslashes or control characters"
	case strings.ContainsAny(address, "?#"):
		return "must not have a query or a fragment"
	}
	if scheme, _, found := strings.Cut(address, "://"); !found || strings.Contains(scheme, "::") {
		match := scpAddress.FindStringSubmatch(address)
		if match == nil {
			return "must begin with https, http, ssh, git or file and ://, or have the form user@host:path"
		}
		return pathProblem(match[2])
	}
	u, err := url.Parse(address)
	if err != nil {
		return "is not a valid URL"
	}
	if !strings.HasPrefix(address, u.Scheme+"://") { // git does not accept capitals
		return "its scheme must be in lower case"
	}
	if problem := authorityProblem(u); problem != "" {
		return problem
	}
	return pathProblem(strings.TrimPrefix(u.Path, "/"))
}

// authorityProblem returns why a scheme, user or host is unusable, or "".
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
	// The SSH user is the login name and not secret.
	_, secret := u.User.Password()
	if secret || u.Scheme != "ssh" || !userName.MatchString(u.User.Username()) {
		return "must not have credentials"
	}
	return ""
}

// pathProblem returns why a decoded repository path is unusable, or "". Elements that lead
// elsewhere would let a repository look like another one.
func pathProblem(name string) string {
	elements := strings.Split(name, "/")
	switch {
	case strings.Trim(name, "/") == "":
		return "must have the path of a repository"
	case !IsPlainText(name) || strings.Contains(name, `\`):
		return "its path must not have backslashes or control characters"
	case slices.Contains(elements, ".") || slices.Contains(elements, ".."):
		return `its path must not have "." or ".."`
	}
	return ""
}

// IsPlainText reports whether a text is UTF-8 without control characters.
func IsPlainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
