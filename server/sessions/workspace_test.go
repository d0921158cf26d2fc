package sessions

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/gittest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workspace"
	"go.uber.org/zap/zaptest"
)

// workspaceBody returns the body of a request for a session with a workspace.
func workspaceBody(t *testing.T, w workspace.Request) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"workspace": w})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestAWorkspaceIsCheckedBeforeThePolicyIs(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	const good = "https://git.example.com/a/b.git"
	at := func(address string) workspace.Request {
		return workspace.Request{Checkouts: []workspace.Checkout{{URL: address, Path: "b"}}, Cwd: "b"}
	}
	ref := func(name string) workspace.Request {
		return workspace.Request{Checkouts: []workspace.Checkout{{URL: good, Ref: name, Path: "b"}}, Cwd: "b"}
	}
	in := func(cwd string, paths ...string) workspace.Request {
		asked := workspace.Request{Cwd: cwd}
		for _, p := range paths {
			asked.Checkouts = append(asked.Checkouts, workspace.Checkout{URL: good, Path: p})
		}
		return asked
	}
	const address, option, secret = "checkouts[0].url", "checkouts[0].ref", "must not have credentials"
	for name, test := range map[string]struct {
		asked workspace.Request
		text  string // empty when the workspace is valid
	}{
		"https":                   {at(good), ""},
		"http with a port":        {at("http://git.example.com:8080/a"), ""},
		"an address with IPv6":    {at("https://[2001:db8::1]:8443/a"), ""},
		"git":                     {at("git://git.example.com/a"), ""},
		"ssh":                     {at("ssh://git.example.com/a"), ""},
		"ssh with a user":         {at("ssh://git@git.example.com/a"), ""},
		"a file":                  {at("file:///srv/git/a.git"), ""},
		"scp style":               {at("git@git.example.com:a/b.git"), ""},
		"a branch":                {ref("feature/x-1"), ""},
		"a commit":                {ref("56f897f0a4be0c1a2e1d2f8c1f0e6f3f8a1b2c3d"), ""},
		"two checkouts":           {in("b/docs", "a", "b"), ""},
		"names with a prefix":     {in("ab", "a", "ab"), ""},
		"no checkout":             {in("b"), "between 1 and 32"},
		"too many checkouts":      {in("b", make([]string, 33)...), "between 1 and 32"},
		"no address":              {at(""), address},
		"an option":               {at("--upload-pack=touch /tmp/x"), address},
		"a short option":          {at("-uhttps://git.example.com/a"), address},
		"an option as a scheme":   {at("-x://git.example.com/a"), address},
		"an option as a host":     {at("ssh://-oProxyCommand=id/a"), address},
		"a user and such a host":  {at("ssh://git@-oProxyCommand=id/a"), address},
		"an option as a user":     {at("ssh://-oProxyCommand=id@h/a"), secret},
		"scp style with options":  {at("-x@git.example.com:a"), address},
		"such a host, scp style":  {at("git@-oProxyCommand=id:a"), address},
		"such a path, scp style":  {at("git@git.example.com:-a"), address},
		"scp style without user":  {at("git.example.com:a"), address},
		"a helper":                {at("ext::sh -c id"), address},
		"a helper without spaces": {at("ext::sh"), address},
		"a helper with a scheme":  {at("ext::https://git.example.com/a"), address},
		"a helper by descriptor":  {at("fd::17/a@b:c"), address},
		"a helper in scp style":   {at("git@h::a"), address},
		"another scheme":          {at("ftp://git.example.com/a"), address},
		"a scheme of a helper":    {at("ext://git.example.com/a"), address},
		"a local path":            {at("/srv/git/a"), address},
		"a relative path":         {at("../a"), address},
		"a drive":                 {at(`C:\git`), address},
		"a file with a host":      {at("file://git.example.com/a"), address},
		"a token":                 {at("https://s3cret@git.example.com/a"), secret},
		"a password":              {at("https://me:s3cret@git.example.com/a"), secret},
		"a password for ssh":      {at("ssh://me:s3cret@git.example.com/a"), secret},
		"a user of git":           {at("git://me@git.example.com/a"), secret},
		"a query":                 {at(good + "?token=s3cret"), address},
		"an empty query":          {at(good + "?"), address},
		"a fragment":              {at(good + "#main"), address},
		"a line break":            {at(good + "\n"), address},
		"an encoded line break":   {at(good + "%0a"), address},
		"a NUL":                   {at(good + "\x00"), address},
		"no host":                 {at("https:///a"), address},
		"no path":                 {at("https://git.example.com/"), address},
		"a path that leads up":    {at("https://git.example.com/ok/../other"), address},
		"an encoded one":          {at("https://git.example.com/ok/%2e%2e/other"), address},
		"an encoded slash":        {at("https://git.example.com/ok%2f..%2fother"), address},
		"scp style that leads up": {at("git@git.example.com:ok/../other"), address},
		"an option as a ref":      {ref("--upload-pack=id"), option},
		"a refspec":               {ref("+main:main"), option},
		"a refspec without force": {ref("main:main"), option},
		"a range":                 {ref("a..b"), option},
		"a place in the log":      {ref("main@{1}"), option},
		"a ref with a space":      {ref("a b"), option},
		"no path in there":        {in("b", ""), "checkouts[0].path: relative path is required"},
		"the root":                {in("b", "."), "checkouts[0].path: relative path is required"},
		"an absolute path":        {in("b", "/b"), "checkouts[0].path: relative path is required"},
		"out":                     {in("b", ".."), "checkouts[0].path leads out"},
		"out and in":              {in("b", "../b"), "checkouts[0].path leads out"},
		"down and out":            {in("b", "a/../../b"), "checkouts[0].path leads out"},
		"a backslash":             {in("b", `a\..\..\b`), "checkouts[0].path"},
		"a drive as a path":       {in("b", "C:b"), "checkouts[0].path"},
		"a NUL in a path":         {in("b", "b\x00"), "checkouts[0].path"},
		"into .git":               {in("b", "b/.GIT/hooks"), "checkouts[0].path"},
		"a path like an option":   {in("b", "-b"), "checkouts[0].path"},
		"twice the same":          {in("b", "b", "./b/"), "checkouts[1].path overlaps the path of checkouts[0]"},
		"the same but for case":   {in("b", "b", "B"), "checkouts[1].path overlaps"},
		"one in the other":        {in("b", "b", "b/c"), "checkouts[1].path overlaps"},
		"the other way round":     {in("b", "b/c", "b"), "checkouts[1].path overlaps"},
		"no cwd":                  {in("", "b"), "cwd: relative path is required"},
		"a cwd that leads out":    {in("b/../..", "b"), "workspace.cwd leads out"},
		"an absolute cwd":         {in("/b", "b"), "cwd: relative path is required"},
		"a cwd elsewhere":         {in("bc", "b"), "workspace.cwd must lie in one of the checkouts"},
	} {
		want, text := http.StatusBadRequest, test.text
		if text == "" {
			want, text = http.StatusPreconditionFailed, "this server prepares no workspaces"
		}
		status, answer := w.ask("alice", "POST /agent/sessions", workspaceBody(t, test.asked))
		if status != want || !strings.Contains(answer, text) {
			t.Errorf("%s: %d %s; it should be %d with %q", name, status, answer, want, text)
		}
		if strings.Contains(answer, "s3cret") {
			t.Errorf("%s: the answer has the secret: %s", name, answer)
		}
	}
	if kept := do[[]sessionView](w, "GET /agent/sessions", ""); len(kept) != 0 {
		t.Errorf("sessions are kept: %+v", kept)
	}
}

func TestASessionBeginsInItsWorkspaceOnce(t *testing.T) {
	t.Parallel()
	base, dir := t.TempDir(), t.TempDir()
	app := gittest.New(t, filepath.Join(base, "app.git"), map[string]string{"a.txt": "one\n"})
	manager, err := workspace.New(workspace.Settings{
		Dir: dir, Store: "test", Repositories: []string{base + "/app"}, Protocols: []string{"file"}, Timeout: time.Minute, MaxBytes: 64 << 20, Logger: zaptest.NewLogger(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := serving(t, twoProviders, func(s *service.Settings) { s.Workspaces = manager })
	asked := func(address, key string) string {
		text := workspaceBody(t, workspace.Request{Checkouts: []workspace.Checkout{{URL: address, Path: "b"}}, Cwd: "b"})
		return strings.TrimSuffix(text, "}") + `,"idempotencyKey":"` + key + `"}`
	}
	spaces := func() int {
		list, err := os.ReadDir(filepath.Join(dir, "test"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	first := do[sessionView](w, "POST /agent/sessions", asked(app.URL, "k"))
	again := do[sessionView](w, "POST /agent/sessions", asked(app.URL, "k"))
	if first.ID != again.ID || spaces() != 1 {
		t.Errorf("%s and %s, %d workspaces", first.ID, again.ID, spaces())
	}
	if kept := string(first.Metadata["__gestalt.workspace"]); !strings.Contains(kept, app.Commit) || strings.Contains(kept, dir) {
		t.Errorf("the session keeps %s", kept)
	}
	for name, address := range map[string]string{"not one of": "file:///srv/git/other", "checkout b: ": app.URL} {
		if name == "checkout b: " {
			gittest.Run(t, app.Dir, "symbolic-ref", "HEAD", "refs/heads/none")
		}
		if status, answer := w.ask("alice", "POST /agent/sessions", asked(address, name)); status != http.StatusPreconditionFailed || !strings.Contains(answer, name) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if status, answer := w.ask("alice", "PATCH /agent/sessions/"+first.ID, `{"state":"archived"}`); status != http.StatusOK || spaces() != 0 {
		t.Errorf("archived: %d %s, %d workspaces", status, answer, spaces())
	}
}
