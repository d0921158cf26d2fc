package remote

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/spf13/cobra"
)

// commandWith returns a command with flags that were given on the command line.
func commandWith(t *testing.T, add func(*cobra.Command), args ...string) *cobra.Command {
	t.Helper()
	cmd := &cobra.Command{Use: "do"}
	add(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// firstLine returns the first line of an error; empty without one.
func firstLine(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// TestFlagsThatNameAServer covers which arguments and flags --server allows.
func TestFlagsThatNameAServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags, args []string
		done        bool
		problem     string
	}{
		{args: []string{"config.yaml", "turn"}},
		{flags: []string{"--api-key-file=key"}, done: true, problem: "--api-key-file needs --server"},
		{flags: []string{"--server=http://x"}, args: []string{"turn"}, done: true},
		{flags: []string{"--server=http://x", "--api-key-file=key"}, args: []string{"turn"}, done: true},
		{flags: []string{"--server=http://x", "--local=a"}, args: []string{"turn"}, done: true, problem: "--local cannot be used with --server"},
		{flags: []string{"--server=http://x"}, done: true, problem: "an argument is required"},
		{
			flags: []string{"--server=http://x"}, args: []string{"config.yaml", "turn"}, done: true,
			problem: "--server and FILE exclude each other, but 2 arguments are given",
		},
	} {
		var r Flags
		cmd := commandWith(t, func(cmd *cobra.Command) {
			r.AddFlags(cmd.Flags())
			cmd.Flags().String("local", "", "")
		}, tt.flags...)
		if done, err := r.Check(cmd, tt.args, 1, []string{"local"}); done != tt.done || firstLine(err) != tt.problem {
			t.Errorf("%v %v: %t, %v", tt.flags, tt.args, done, err)
		}
	}
	if err := new(Flags).NeedServer(new(cobra.Command)); firstLine(err) != "--server is required: the URL of the server" {
		t.Error(err)
	}
}

// TestTheKeyOfAServer reads the key from a file or, without one, from the variable.
func TestTheKeyOfAServer(t *testing.T) {
	t.Setenv(KeyVariable, " of-the-variable\n")
	dir := t.TempDir()
	for name, text := range map[string]string{"key": "of-the-file\n", "empty": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ file, want, problem string }{
		{"", "of-the-variable", ""},
		{"key", "of-the-file", ""},
		{"empty", "", "--api-key-file: no key in "},
		{"none", "", "--api-key-file: open "},
	} {
		r := Flags{KeyFile: tt.file}
		if tt.file != "" {
			r.KeyFile = filepath.Join(dir, tt.file)
		}
		if key, err := r.key(); key != tt.want || !strings.HasPrefix(firstLine(err), tt.problem) || (err != nil) != (tt.problem != "") {
			t.Errorf("%q: %q, %v", tt.file, key, err)
		}
	}
}

// TestErrorsOfServersNameTheNextStep covers the advice about keys, paths and APIs, and that the key
// is hidden.
func TestErrorsOfServersNameTheNextStep(t *testing.T) {
	t.Setenv(KeyVariable, "s3cret")
	for _, tt := range []struct {
		name, path string
		status     int
		body       string
		want       []string
	}{
		{"no key", "", http.StatusUnauthorized, `{"error":{"code":"unauthorized","message":"the key s3cret is unknown"}}`, []string{"the key *** is unknown", "\n  the key comes from the variable RUNTIME_API_KEY, or from --api-key-file"}},
		{"a path", "/below", http.StatusNotFound, "nothing", []string{"404", "\n  --server has the path \"/below\"; try --server http://"}},
		{"another program", "", http.StatusNotFound, "nothing", []string{"404"}},
		{"no API", "", http.StatusNotFound, `{"error":{"code":"not_found","message":"no such route"}}`, []string{"\n  the server may be older, or its configuration may disable this API: server.native, server.admin or server.workflows"}},
		{"findings", "", http.StatusUnprocessableEntity, `{"error":{"code":"invalid","message":"invalid","details":{"used_by":["agents.clerk"],"findings":[{"code":"missing_field","severity":"error","path":"agents.a","message":"m"}]}}}`, []string{
			"\n  error[missing_field] agents.a: m", "\n  used by agents.clerk",
		}},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if strings.HasPrefix(tt.body, "{") {
				w.Header().Set("Content-Type", "application/json")
			}
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		var out, errs bytes.Buffer
		cmd := NewRevisions(&terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		cmd.SetArgs([]string{"list", "--server", s.URL + tt.path})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		s.Close()
		if !errors.Is(err, command.Exit(command.Failed)) || out.Len() > 0 || strings.Contains(errs.String(), "s3cret") {
			t.Errorf("%s: %v, %s", tt.name, err, out.String())
		}
		for _, want := range tt.want {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("%s: %q is missing in %s", tt.name, want, errs.String())
			}
		}
		if advised := strings.Count(errs.String(), "\n  "); tt.name == "another program" && advised > 0 {
			t.Errorf("%s: %s", tt.name, errs.String())
		}
	}
}

// TestAnswerFlags covers answers to questions and to requests for permission.
func TestAnswerFlags(t *testing.T) {
	t.Parallel()
	permission := &interaction.Request{ID: "q", Action: "tool:PermissionConfirm"}
	question := &interaction.Request{ID: "q", Action: "tool:Ask"}
	for _, tt := range []struct {
		args    []string
		q       *interaction.Request
		want    interaction.Answer
		problem string
	}{
		{args: nil, problem: "one of --approve, --refuse and --result must be given"},
		{args: []string{"--approve", "--refuse"}, problem: "one of --approve, --refuse and --result must be given"},
		{args: []string{"--approve"}, q: permission, want: interaction.Answer{Action: interaction.Resume, Result: []byte(`{"approved":true,"scope":"once"}`)}},
		{args: []string{"--refuse", "--reason=no"}, q: permission, want: interaction.Answer{Action: interaction.Resume, Result: []byte(`{"approved":false}`), Reason: "no"}},
		{args: []string{"--result=yes"}, q: question, want: interaction.Answer{Action: interaction.Resume, Result: []byte(`"yes"`)}},
		{args: []string{`--result={"a":1}`}, q: permission, want: interaction.Answer{Action: interaction.Resume, Result: []byte(`{"a":1}`)}},
		{args: []string{"--refuse"}, q: question, want: interaction.Answer{Action: interaction.Cancel}},
		{args: []string{"--approve"}, q: question, problem: "interaction q asks for an answer, not for a permission: use --result"},
	} {
		var o AnswerFlags
		cmd := commandWith(t, o.AddFlags, tt.args...)
		err := o.Check(cmd)
		var got interaction.Answer
		if err == nil {
			got, err = o.Answer(tt.q)
		}
		if firstLine(err) != tt.problem {
			t.Errorf("%v: %v", tt.args, err)
		}
		if err == nil && (got.Target != "q" || got.Action != tt.want.Action || string(got.Result) != string(tt.want.Result) || got.Reason != tt.want.Reason) {
			t.Errorf("%v: %+v", tt.args, got)
		}
	}
}
