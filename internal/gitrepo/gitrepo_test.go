package gitrepo_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/gitrepo"
)

func TestPatternsMatchRepositories(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, address string
		want             bool
	}{
		{"github.com/acme/app", "https://github.com/acme/app", true},
		{"github.com/acme/app", "https://GitHub.com/acme/app.git", true},
		{"github.com/acme/app.git", "git@github.com:acme/app", true},
		{"github.com/acme/app", "ssh://git@github.com:22/acme/app/", true},
		{"github.com/acme/app", "https://github.com/acme/app2", false},
		{"github.com/acme/app", "https://github.com/Acme/app", false},
		{"github.com/acme/*", "https://github.com/acme/a/b", true},
		{"github.com/acme/*", "https://github.com/acme", false},
		{"*.example.com/a", "https://git.example.com/a", true},
		{"*.example.com/a", "https://evil.test/x.example.com/a", false},
		{"github.com/acme/*", "https://github.com:8443/acme/a", false},
		{"github.com:8443/acme/*", "https://github.com:8443/acme/a", true},
		{"/srv/git/*", "file:///srv/git/a.git", true},
		{"/srv/git/*", "https://srv/git/a", false},
		{"*/*", "file:///etc/x", false},
	} {
		p, err := gitrepo.Compile(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if problem := gitrepo.Problem(tt.address); problem != "" {
			t.Fatalf("%s: %s", tt.address, problem)
		}
		if a := gitrepo.Parse(tt.address); p.Match(&a) != tt.want {
			t.Errorf("%s and %s: %t", tt.pattern, tt.address, !tt.want)
		}
	}
}

// TestSchemesAreThoseOfGit has a scheme in capitals, which git interprets as a helper's name.
func TestSchemesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"HTTPS://github.com/acme/app", "File:///srv/git/a.git", "sSh://git@github.com/acme/app"} {
		if got := gitrepo.Problem(address); got != "its scheme must be in lower case" {
			t.Errorf("%s: %q", address, got)
		}
	}
}

// FuzzProblem checks that accepted addresses cannot be interpreted as an option or a transport
// helper, and that their parts can be read.
func FuzzProblem(f *testing.F) {
	for _, seed := range []string{"https://h/a", "git@h:a", "ext::sh -c id", "-x@h:a", "ssh://-oProxyCommand=id/a", "file:///a/../b", "https://u:p@h/a", "a://b::c", "git@h::a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if gitrepo.Problem(raw) != "" {
			return
		}
		a := gitrepo.Parse(raw)
		known := map[string]bool{"https": true, "http": true, "ssh": true, "git": true, "file": true}
		if !known[a.Protocol] || a.Path == "" || (a.Host == "") != (a.Protocol == "file") {
			t.Errorf("%q is %+v", raw, a)
		}
		if strings.HasPrefix(raw, "-") || strings.HasPrefix(a.Host, "-") || strings.HasPrefix(a.Path, "-") && a.Protocol == "ssh" && !strings.Contains(raw, "://") || strings.ContainsAny(raw, " \\\x00\n") {
			t.Errorf("%q is accepted", raw)
		}
	})
}
