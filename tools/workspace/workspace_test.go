package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/internal/testkit/usage"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// members returns the tools of an entry with the id ws, by their names.
func members(t *testing.T, c Config) map[string]tools.Tool {
	t.Helper()
	made, err := Kind().Create(tools.Settings{ID: "ws"}, &c)
	if err != nil {
		t.Fatal(err)
	}
	list, found := made.(tools.Bundle).Members()
	if len(found) > 0 {
		t.Fatal(found)
	}
	byName := make(map[string]tools.Tool)
	for _, m := range list {
		byName[strings.TrimPrefix(m.ID, "ws_")] = m.Tool
	}
	return byName
}

// call calls a tool and returns what the model reads, and whether it is an error.
func call(ctx context.Context, t *testing.T, c Config, tool, arguments string) (text string, failed bool) {
	t.Helper()
	r, err := members(t, c)[tool].Call(ctx, &tools.Call{ID: "call_1", Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error(), true
	}
	return model.PartsText(r.Content), r.IsError
}

// tree makes a root with files; a content that begins with "->" is a symbolic link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content, "->"); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTheToolsThatThereAreFollowFromTheSettings(t *testing.T) {
	t.Parallel()
	reading, writing := []string{"read_file", "list_files", "grep"}, []string{"write_file", "edit_file"}
	empty := ""
	for _, tt := range []struct {
		config Config
		prefix string
		want   []string
	}{
		{Config{}, "ws_", slices.Concat(reading, writing)},
		{Config{ReadOnly: true}, "ws_", reading},
		{Config{Programs: []string{"go"}, Prefix: &empty}, "", slices.Concat(reading, writing, []string{"run_command"})},
	} {
		tt.config.Root = "."
		made, err := Kind().Create(tools.Settings{ID: "ws"}, &tt.config)
		if err != nil {
			t.Fatal(err)
		}
		bundle := made.(tools.Bundle)
		list, found := bundle.Members()
		var got []string
		for _, m := range list {
			got = append(got, strings.TrimPrefix(m.ID, tt.prefix))
			if _, bad := toolset.Compile(m.ID, m.Tool, toolset.Source{Kind: toolset.SourceGlobal}); bad.HasErrors() {
				t.Errorf("%s does not compile: %v", m.ID, bad)
			}
		}
		if !slices.Equal(got, tt.want) || len(found) > 0 || bundle.Prefix() != tt.prefix {
			t.Errorf("%+v: %q with prefix %q, %v", tt.config, got, bundle.Prefix(), found)
		}
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	want := map[string]tools.Effect{
		"read_file": tools.Read, "list_files": tools.Read, "grep": tools.Read,
		"write_file": tools.Idempotent, "edit_file": tools.Once, "run_command": tools.Once,
	}
	for name, tool := range members(t, Config{Root: ".", Programs: []string{"go"}}) {
		d := tool.Descriptor()
		if d.EffectClass() != want[name] || d.Limit() != tools.DefaultTimeout {
			t.Errorf("%s has effect %s and %s", name, d.EffectClass(), d.Limit())
		}
	}
}

func TestFilesAreReadListedAndSearched(t *testing.T) {
	t.Parallel()
	c := Config{Root: tree(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "empty": "", "data": "a\x00b", "dir/b.go": "package b // Two\n", "dir/deep/c.go": "two\n",
		"long": strings.Repeat("x", 400) + "\nend\n", "in": "->a.txt", "out": "->/etc/passwd", "up": "->../..", ".git/config": "two\n",
	}), MaxOutput: 300}
	for _, tt := range []struct {
		tool, arguments, want string
		failed                bool
	}{
		{"read_file", `{"path":"a.txt"}`, "one\ntwo\nthree\n", false},
		{"read_file", `{"path":"./dir/../in"}`, "one\ntwo\nthree\n", false},
		{"read_file", `{"path":"a.txt","offset":2,"limit":1}`, "two\n[more lines follow: continue with offset 3]", false},
		{"read_file", `{"path":"a.txt","offset":4}`, "a.txt: the file has 3 lines; offset is 4", true},
		{"read_file", `{"path":"empty"}`, "[the file is empty]", false},
		{"read_file", `{"path":"long"}`, strings.Repeat("x", 300) + "\n[line 1 is cut]", false},
		{"read_file", `{"path":"data"}`, "data: the file is not text", true},
		{"read_file", `{"path":"dir"}`, "dir: is a directory; list_files lists it", true},
		{"read_file", `{"path":"none"}`, "none: no such file or directory", true},
		{"read_file", `{"path":"/etc/passwd"}`, `path "/etc/passwd" is absolute: paths begin at the root of the workspace`, true},
		{"read_file", `{"path":"dir/../../x"}`, `path "dir/../../x" leads out of the workspace`, true},
		{"read_file", `{"path":"out"}`, "out: path escapes from parent", true},
		{"list_files", `{"depth":1}`, ".git/\na.txt\ndata\ndir/\nempty\nin@\nlong\nout@\nup@\n", false},
		{"list_files", `{"path":"dir"}`, "dir/b.go\ndir/deep/\ndir/deep/c.go\n", false},
		{"list_files", `{"pattern":"**.go"}`, "dir/b.go\ndir/deep/c.go\n", false},
		{"list_files", `{"pattern":"*.rs"}`, "[no files]", false},
		{"list_files", `{"path":"up"}`, "up: path escapes from parent", true},
		{"list_files", `{"path":"a.txt"}`, `path "a.txt" is not a directory`, true},
		{"grep", `{"expression":"two"}`, "a.txt:2:two\ndir/deep/c.go:1:two\n", false},
		{"grep", `{"expression":"two","ignore_case":true,"pattern":"dir/*.go"}`, "dir/b.go:1:package b // Two\n", false},
		{"grep", `{"expression":"nowhere"}`, "[no line matches]\n", false},
		{"grep", `{"expression":"("}`, "expression cannot be used: error parsing regexp: missing closing ): `(`", true},
		{"grep", `{"expression":"^x+$"}`, "[more lines match: search a directory below, or give a pattern]\n", false},
	} {
		got, failed := call(t.Context(), t, c, tt.tool, tt.arguments)
		if got != tt.want || failed != tt.failed {
			t.Errorf("%s %s is %q, %v, want %q", tt.tool, tt.arguments, got, failed, tt.want)
		}
	}
}

func TestFilesAreWrittenAsAWhole(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.txt": "one two two", "in": "->a.txt", "out": "->/tmp/outside", "dir/x": ""})
	c := Config{Root: root, MaxFile: 64}
	for _, tt := range []struct {
		tool, arguments, want string
		failed                bool
	}{
		{"write_file", `{"path":"new/deep/b.txt","content":"b"}`, "wrote 1 bytes", false},
		{"write_file", `{"path":"../b.txt","content":"b"}`, `path "../b.txt" leads out of the workspace`, true},
		{"write_file", `{"path":"out","content":"b"}`, "out: path escapes from parent", true},
		{"write_file", `{"path":"dir","content":"b"}`, `path "dir" is not a regular file`, true},
		{"write_file", `{"path":"big","content":"` + strings.Repeat("x", 65) + `"}`, "the content has 65 bytes; max_file is 64", true},
		{"edit_file", `{"path":"a.txt","old":"three","new":"x"}`, "a.txt does not contain the text of old", true},
		{"edit_file", `{"path":"a.txt","old":"two","new":"x"}`, "a.txt contains the text of old 2 times: include more of the surrounding text, or set all", true},
		{"edit_file", `{"path":"in","old":"one","new":"1"}`, "replacements: 1", false},
		{"edit_file", `{"path":"a.txt","old":"two","new":"2","all":true}`, "replacements: 2", false},
		{"edit_file", `{"path":"a.txt","old":"","new":"2"}`, "old is empty; write_file writes a whole file", true},
		{"read_file", `{"path":"a.txt"}`, "1 2 2", false},
		{"list_files", `{}`, "a.txt\ndir/\ndir/x\nin@\nnew/\nnew/deep/\nnew/deep/b.txt\nout@\n", false},
	} {
		got, failed := call(t.Context(), t, c, tt.tool, tt.arguments)
		if got != tt.want || failed != tt.failed {
			t.Errorf("%s %s is %q, %v, want %q", tt.tool, tt.arguments, got, failed, tt.want)
		}
	}
}

func TestAMissingRootIsAnErrorOfTheCall(t *testing.T) {
	t.Parallel()
	got, failed := call(t.Context(), t, Config{Root: filepath.Join(t.TempDir(), "none")}, "list_files", `{}`)
	if want := "the root of the workspace cannot be opened: no such file or directory"; got != want || !failed {
		t.Errorf("it is %q, %v", got, failed)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	zero := spec.Duration(0)
	bad := "a b"
	for _, tt := range []struct {
		config Config
		want   []string
	}{
		{Config{Root: "x"}, nil},
		{Config{}, nil},
		{Config{Root: " "}, []string{"invalid-value root: root is blank"}},
		{Config{Root: "x", ReadOnly: true, Programs: []string{"go"}}, []string{"invalid-value read_only: programs may change files, and read_only is set"}},
		{Config{Root: "x", Network: "some", Programs: []string{"go"}}, []string{`invalid-value network: network is "some"; allowed are none and host`}},
		{Config{Root: "x", Programs: []string{"git status"}}, []string{"invalid-value programs[0]: a program must not have arguments; the model chooses them"}},
		{Config{Root: "x", Network: "host"}, []string{"invalid-value network: network is about programs, and programs lists none"}},
		{Config{Root: "x", Programs: []string{"go", "go", " "}}, []string{
			"invalid-value programs[1]: the program is listed twice", "invalid-value programs[2]: invalid name of a program",
		}},
		{Config{Root: "x", Env: map[string]string{"A=B": ""}}, []string{`invalid-value env["A=B"]: invalid environment variable name`}},
		{Config{Root: "x", MaxFile: -1, MaxOutput: 1, Timeout: &zero}, []string{
			"invalid-value max_file: max_file is -1; it must be from 1 to 67108864", "invalid-value timeout: timeout is 0s; it must be more than 0",
			"invalid-value max_output: max_output is 1; it must be from 256 to 1048576",
		}},
		{Config{Root: "x", Prefix: &bad}, []string{"invalid-id prefix: "}},
	} {
		var got []string
		list := tt.config.Validate()
		for _, d := range list {
			got = append(got, string(d.Code)+" "+d.Path+": "+d.Message)
		}
		if len(got) != len(tt.want) || !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
			t.Errorf("%+v: %q, want %q", tt.config, got, tt.want)
		}
		if _, err := Kind().Create(tools.Settings{}, &tt.config); (err != nil) != list.HasErrors() {
			t.Errorf("%+v: Create gives %v", tt.config, err)
		}
	}
}

func TestMarshalJSONHidesSecrets(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Config{Root: "x", Env: map[string]string{"API_KEY": "hunter2"}})
	if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "API_KEY") {
		t.Errorf("the record is shown as %s, %v", text, err)
	}
}

// TestNothingOfGitIsWritten has the model write what would have git run its programs, by the
// names and the links that a repository may have for it.
func TestNothingOfGitIsWritten(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		".git/config": "one\n", ".git/hooks/x": "one\n", "sub/.git/config": "one\n", "gitignore": "", "a.git/x": "one\n",
		"docs": "->.git/hooks", "conf": "->.git/config", "twice": "->docs", "missing": "->.git/hooks/new",
	})
	c := Config{Root: root}
	for _, name := range []string{
		".git/config", ".git", ".git/hooks/post-checkout", "./.git//config", "sub/.git/config", "sub/../.git/config", ".GIT/config", ".git./config", "git~1/config",
		"docs/post-checkout", "docs/new/deep", "conf", "twice/x", "docs/../config", "missing",
	} {
		if got, failed := call(t.Context(), t, c, "write_file", `{"path":"`+name+`","content":"evil"}`); !failed && name != "docs/../config" {
			t.Errorf("%s: %q", name, got)
		}
		if got, failed := call(t.Context(), t, c, "edit_file", `{"path":"`+name+`","old":"one","new":"evil"}`); !failed {
			t.Errorf("edit of %s: %q", name, got)
		}
	}
	for _, name := range []string{".git/config", ".git/hooks/x", "sub/.git/config"} {
		if data, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(data) != "one\n" {
			t.Errorf("%s has %q, %v", name, data, err)
		}
	}
	for _, name := range []string{".gitignore", ".github/x", "a.git/x"} {
		if got, failed := call(t.Context(), t, c, "write_file", `{"path":"`+name+`","content":"x"}`); failed {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A search ends with its context, also in the middle of a file, and lines that are too long
// for the expression are counted.
func TestASearchEndsInsideOfAFile(t *testing.T) {
	t.Parallel()
	expression, err := pattern.CompileRegexp("(a?){30}x")
	if err != nil {
		t.Fatal(err)
	}
	found := &matches{expression: expression, room: 1 << 20}
	lines := bytes.Repeat([]byte(strings.Repeat("a", 100)+"\n"), 100_000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if used := usage.Of(func() { _, err = found.addFile(ctx, "a", lines) }); !errors.Is(err, context.Canceled) || used.CPU > 2*time.Second {
		t.Errorf("%v after %s", err, used.CPU)
	}
	slow := strings.Repeat("(a?){30}", 30) + "x"
	c := Config{Root: tree(t, map[string]string{"a.txt": strings.Repeat("a", 1<<20) + "\nax\n"})}
	got, _ := call(t.Context(), t, c, "grep", `{"expression":"`+slow+`"}`)
	if !strings.HasPrefix(got, "a.txt:2:ax\n[1 lines were not searched: they have more than ") {
		t.Errorf("got %s", got)
	}
}
