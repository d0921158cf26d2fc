package docs_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// TestTheWorkflowCommentsOnce runs the steps of the workflow like GitHub does, with a server and a
// fake gh that stores the comment.
func TestTheWorkflowCommentsOnce(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		needs.Missing(t, err)
	}
	dir, bin := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(bin, "runtime"), "#!/bin/sh\nexec '"+program+"' \"$@\"\n", 0o700)
	writeFile(t, filepath.Join(bin, "gh"), "#!/bin/sh\necho \"$1 $2 $3 $4 $5 $6\" >> asked\ncp \"$7\" comment\n", 0o700)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples", "evals"))); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config.yaml")
	good := readText(t, "examples/evals/config.yaml")
	made, err := exec.CommandContext(t.Context(), program, "keys", "new", "--id", "ci").Output()
	if err != nil {
		t.Fatal(err)
	}
	key, entry, _ := strings.Cut(strings.TrimSpace(string(made)), "\n")
	entry = strings.TrimSuffix(entry, "}") + ", tenant: ops, subject: ci, scopes: [config:read, config:write]}"
	env := []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "SERVER=" + startServer(t, good+"\nstore: {driver: memory}\nrevisions: {source: store}\nserver: {listen: \"127.0.0.1:0\", keys: ["+strings.TrimPrefix(entry, "- ")+"]}\n"),
		"RUNTIME_API_KEY=" + key, "PULL_REQUEST=7", "GITHUB_SHA=abc", "OPENAI_API_KEY=k", "HOME=" + dir,
	}
	workflow := manifests(t, "examples/deploy/github/agents.yaml")[0]
	step := func(job string) error {
		steps, _ := at(t, workflow, "jobs", job, "steps").([]any)
		cmd := exec.CommandContext(t.Context(), bash, "-e", "-c", at(t, steps[len(steps)-1], "run").(string))
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if len(out) > 0 {
			t.Logf("%s", out)
		}
		_ = os.Remove(filepath.Join(dir, "comment.md")) // each job has a new checkout
		return err
	}
	if err := step("apply"); err != nil {
		t.Fatal(err)
	}
	var manyMistakes strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&manyMistakes, "x%d: 1\n", i)
	}
	for _, c := range []struct {
		config string
		passes bool
		want   string
	}{
		{good, true, `(?s)^### Validate\n\n {4}no problems.*### Changes\n\n {4}no agent differs\n.*### Evals\n.*3 runs passed`},
		{strings.ReplaceAll(good, "amount > 100", "amount > 1000"), false, `(?s)access is widened for clerk.*1 failed`},
		{strings.ReplaceAll(good, "model_id: default", "model_id: defalt"), false, `(?s)### Validate.*did you mean "default".*### Changes.*### Evals`},
		{good + manyMistakes.String(), false, `(?s)### Validate.*### Changes.*### Evals`},
	} {
		writeFile(t, config, c.config, 0o600)
		err := step("diff")
		comment, unread := os.ReadFile(filepath.Join(dir, "comment"))
		if (err == nil) != c.passes || unread != nil || !regexp.MustCompile(c.want).Match(comment) || len(comment) > 65536 {
			t.Errorf("%v, %v: a comment of %d bytes does not match %s:\n%s", err, unread, len(comment), c.want, comment)
		}
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if want := strings.Repeat("pr comment 7 --edit-last --create-if-none --body-file\n", 4); err != nil || string(asked) != want {
		t.Errorf("gh was asked %q, %v", asked, err)
	}
}

func writeFile(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// startServer serves a configuration and returns the server's URL.
func startServer(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "config.yaml"), config, 0o600)
	server := exec.CommandContext(t.Context(), program, "serve", "config.yaml")
	server.Dir, server.Env = dir, append(os.Environ(), "OPENAI_API_KEY=k")
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := regexp.MustCompile(`ready: .* listening on (\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() { // the server must not block on its log
				}
			}()
			return m[1]
		}
	}
	t.Fatalf("the server is not ready: %v", lines.Err())
	return ""
}
