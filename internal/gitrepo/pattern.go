package gitrepo

import (
	"errors"
	"net/url"
	"path"
	"strings"

	"github.com/agentruntime/agentruntime/internal/pattern"
)

// Address is a repository address split into its parts.
type Address struct {
	// Protocol is git's name for the transport.
	Protocol string
	// Host is in lower case, with the port unless it is the default one; it is empty for a file.
	Host string
	// Path has no trailing .git, and no leading or trailing slash.
	Path string
}

// usualPorts are the default ports by protocol.
var usualPorts = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// Parse returns the parts of an address that Problem accepts.
func Parse(raw string) Address {
	if match := scpAddress.FindStringSubmatch(raw); match != nil && !strings.Contains(raw, "://") {
		return Address{"ssh", strings.ToLower(match[1]), cleanPath(match[2])}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return Address{}
	}
	host := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && port != usualPorts[u.Scheme] {
		host += ":" + port
	}
	return Address{u.Scheme, host, cleanPath(u.Path)}
}

// cleanPath returns the path of a repository in the form that patterns match.
func cleanPath(name string) string {
	return strings.TrimSuffix(strings.Trim(path.Clean("/"+name), "/"), ".git")
}

// Pattern matches repositories. It matches host and path separately, so that no path can look like
// another host.
type Pattern struct {
	file       bool
	host, path pattern.Pattern
}

// Compile compiles a pattern such as github.com/acme/*. A pattern of files begins with a slash.
func Compile(glob string) (Pattern, error) {
	host, name, found := strings.Cut(glob, "/")
	switch {
	case strings.Contains(glob, "://"):
		return Pattern{}, errors.New("the pattern has a scheme")
	case !found || name == "":
		return Pattern{}, errors.New("the pattern has no path")
	}
	p := Pattern{file: host == ""}
	var err error
	if !p.file {
		if p.host, err = pattern.Compile(strings.ToLower(host)); err != nil {
			return Pattern{}, err
		}
	}
	p.path, err = pattern.Compile(strings.TrimSuffix(name, ".git"))
	return p, err
}

// IsFile reports whether the pattern matches files.
func (p Pattern) IsFile() bool { return p.file }

// Match reports whether the pattern matches a repository.
func (p Pattern) Match(a *Address) bool {
	if p.file || a.Host == "" {
		return p.file && a.Host == "" && p.path.Match(a.Path)
	}
	return p.host.Match(a.Host) && p.path.Match(a.Path)
}
