package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
)

func TestToolsThatDoNotCompile(t *testing.T) {
	fine := takes("")
	for _, tt := range []struct {
		name string
		id   string
		tool tools.Tool
		code diag.Code
		text string
	}{
		{"empty id", "", fine, diag.InvalidID, `tool id "" is not allowed`},
		{"id with a dot", "a.b", fine, diag.InvalidID, `tool id "a.b" is not allowed`},
		{"id with a blank", "a b", fine, diag.InvalidID, `tool id "a b" is not allowed`},
		{"long id", strings.Repeat("x", 65), fine, diag.InvalidID, "is not allowed"},
		{"nil", "x", nil, diag.InvalidValue, `tool "x" is nil`},
		{"nil pointer", "x", (*tools.Func[struct{}, string])(nil), diag.InvalidSchema, `tool "x" panics when it describes itself`},
		{"panic", "x", tool{about: func() tools.Descriptor { panic("oops") }}, diag.InvalidSchema, `tool "x" panics when it describes itself: oops`},
		{"no function", "x", &tools.Func[struct{}, string]{}, diag.InvalidSchema, `tool "x": its function is nil: set Run`},
		{"no JSON", "x", takes("{"), diag.InvalidSchema, "are not a valid JSON Schema: it is not JSON"},
		{"a list", "x", takes("[]"), diag.InvalidSchema, "it must be an object or a boolean"},
		{"a boolean", "x", takes("true"), diag.InvalidSchema, "it must be an object"},
		{"no schema", "x", takes(`{"type":"objekt"}`), diag.InvalidSchema, "are not a valid JSON Schema"},
		{"of a string", "x", takes(`{"type":"string"}`), diag.InvalidSchema, `its type is "string", but the arguments of a tool are an object`},
		{"of an object or nothing", "x", takes(`{"type":["object","null"]}`), diag.InvalidSchema, `its type is ["object","null"], but`},
		{"of a Go string", "x", &tools.Func[string, string]{Run: func(context.Context, string) (string, error) { return "", nil }}, diag.InvalidSchema, `its type is "string", but`},
		{"a foreign schema", "x", takes(`{"$ref":"https://example.com/s.json"}`), diag.InvalidSchema, "schemas cannot refer to other documents"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entry, list := toolset.Compile(tt.id, tt.tool, toolset.Source{})
			if entry != nil || len(list) != 1 || list[0].Code != tt.code || !strings.Contains(list[0].Message, tt.text) {
				t.Errorf("the diagnostics are %v, want %s %q", list, tt.code, tt.text)
			}
		})
	}
}

func TestAnEntryDeclaresItsToolToModels(t *testing.T) {
	e := compile(t, "look-1", tool{about: func() tools.Descriptor {
		return tools.Descriptor{Description: "Looks.", Parameters: json.RawMessage("{ \"type\": \"object\",\n \"properties\": {} }")}
	}})
	plain := compile(t, "a", takes(""))
	want := []model.Tool{
		{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Name: "look-1", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
	}
	if diff := cmp.Diff(want, toolset.NewSet([]*toolset.Entry{e, plain}).Declarations()); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsAreAnObjectWhateverTheSchemaSays(t *testing.T) {
	for _, schema := range []string{`{}`, `{"description":"anything"}`} {
		e := compile(t, "x", tool{about: takes(schema).about, run: func(context.Context, *tools.Call) (tools.Result, error) {
			return tools.TextResult("ran"), nil
		}})
		for args, want := range map[string]string{
			`{}`:       "ran",
			` {"a":1}`: "ran",
			`[]`:       "!tool_input_invalid: the arguments are not a JSON object",
			`"{}"`:     "!tool_input_invalid: the arguments are not a JSON object",
			`null`:     "!tool_input_invalid: the arguments are not a JSON object",
			``:         "!tool_input_invalid: the arguments are not a JSON object: EOF",
		} {
			if got := execute(t, e, args); got != want {
				t.Errorf("schema %s, arguments %q: %q, want %q", schema, args, got, want)
			}
		}
	}
}

func TestResultsAreReadable(t *testing.T) {
	const most = tools.MaxOutput
	long := strings.Repeat("x", most)
	image := model.Part{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: []byte{1}}}
	note := func(n int) string { return fmt.Sprintf("\n[cut: the output has %d bytes in all]", n) }
	for _, tt := range []struct {
		name   string
		result tools.Result
		want   []model.Part
	}{
		{"nothing", tools.Result{}, nil},
		{"text", tools.TextResult("hi"), []model.Part{model.Text("hi")}},
		{"data alone", tools.Result{Data: json.RawMessage(`{"a":1}`)}, []model.Part{model.Text(`{"a":1}`)}},
		{"text beside data", tools.Result{Data: json.RawMessage(`1`), Content: []model.Part{model.Text("one")}}, []model.Part{model.Text("one")}},
		{"just enough", tools.TextResult(long), []model.Part{model.Text(long)}},
		{"one too many", tools.TextResult(long + "y"), []model.Part{model.Text(long + note(most+1))}},
		{"inside a character", tools.TextResult(long[:most-1] + "é"), []model.Part{model.Text(long[:most-1] + note(most+1))}},
		{"no UTF-8", tools.TextResult("a" + strings.Repeat("\x80", most+9) + "b"), []model.Part{model.Text("a\ufffdb")}},
		{"zero bytes", tools.Result{Content: []model.Part{model.Text("a\x00b"), {Type: model.PartFile, Blob: &model.Blob{MediaType: "x\x00", URI: "\xff", Name: "n\x00"}}}},
			[]model.Part{model.Text("a\ufffdb"), {Type: model.PartFile, Blob: &model.Blob{MediaType: "x\ufffd", URI: "\ufffd", Name: "n\ufffd"}}}},
		{"over several parts", tools.Result{Content: []model.Part{model.Text(long[:most-2]), image, model.Text("abcd"), model.Text("lost")}},
			[]model.Part{model.Text(long[:most-2]), image, model.Text("ab" + note(most+6))}},
		{"long data", tools.Result{Data: json.RawMessage(long + "y")}, []model.Part{model.Text(long + note(most+1))}},
	} {
		got := tt.result.Readable()
		if diff := cmp.Diff(tt.want, got.Content); diff != "" {
			t.Errorf("%s: the content differs (%d bytes of diff)", tt.name, len(diff))
		}
	}
	if text := tools.TextResult(strings.Repeat("é", most)).Readable().Content[0].Text; !utf8.ValidString(text) {
		t.Error("a character was cut in two")
	}
}

func TestALongErrorIsCutToo(t *testing.T) {
	e := compile(t, "x", tool{run: func(context.Context, *tools.Call) (tools.Result, error) {
		return tools.Result{}, errors.New(strings.Repeat("x", 2*tools.MaxOutput))
	}})
	if got := execute(t, e, "{}"); len(got) > tools.MaxOutput+100 {
		t.Errorf("the model reads %d bytes", len(got))
	}
}

func TestWhatTheModelReadsOfACallWhoseTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := compile(t, "x", tool{run: func(ctx context.Context, c *tools.Call) (tools.Result, error) {
			if string(c.Arguments) == "{}" {
				<-ctx.Done()
			}
			return tools.Result{}, fmt.Errorf("dial: %w", context.Cause(ctx))
		}})
		ask := func(ctx context.Context, args string) string {
			return e.Execute(ctx, &tools.Call{Arguments: json.RawMessage(args)}).Content[0].Text
		}
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := ask(late, "{}"); got != "tool x did not finish within 1m0s" {
			t.Errorf("the model reads %q", got)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if got := ask(gone, "{}"); got != "tool x was canceled" {
			t.Errorf("the model reads %q", got)
		}
	})
	own := compile(t, "x", tool{run: func(context.Context, *tools.Call) (tools.Result, error) {
		return tools.Result{}, fmt.Errorf("dial: %w", context.DeadlineExceeded)
	}})
	if got := execute(t, own, "{}"); got != "!dial: context deadline exceeded" {
		t.Errorf("a time limit of the tool's own reads %q", got)
	}
}

func TestASetFindsItsToolsAndPutsFreshOnesIn(t *testing.T) {
	says := func(text string) tool {
		return tool{run: func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult(text), nil }}
	}
	own, list := toolset.Compile("own", says("old"), toolset.Source{Kind: toolset.SourcePlugin, Name: "p"})
	if list != nil {
		t.Fatal(list)
	}
	set := toolset.NewSet([]*toolset.Entry{compile(t, "z", says("z")), own, compile(t, "a", says("a"))})
	var ids []string
	for _, e := range set.Entries() {
		ids = append(ids, e.ID)
	}
	if diff := cmp.Diff([]string{"a", "own", "z"}, ids); diff != "" || set.Len() != 3 {
		t.Error(diff)
	}
	if set.Get("b") != nil || set.Get("") != nil || set.Get("z").ID != "z" {
		t.Error("the set finds the wrong tools")
	}
	fresh := set.Instantiate(func(id string) tools.Tool { return says("new " + id) })
	for id, want := range map[string]string{"a": "a", "own": "new own", "z": "z"} {
		if got := execute(t, fresh.Get(id), "{}"); got != want {
			t.Errorf("tool %s says %q, want %q", id, got, want)
		}
	}
	if got := execute(t, set.Get("own"), "{}"); got != "old" {
		t.Errorf("the old set says %q", got)
	}
	kept := set.Instantiate(func(string) tools.Tool { return nil })
	if kept.Get("own") != own {
		t.Error("a tool without a fresh instance changed")
	}
}

func TestSourcesHaveNames(t *testing.T) {
	for want, s := range map[string]toolset.Source{
		"global tool": {Kind: toolset.SourceGlobal},
		"delegate x":  {Kind: toolset.SourceDelegate, Name: "x"},
		"plugin y":    {Kind: toolset.SourcePlugin, Name: "y"},
	} {
		if s.String() != want {
			t.Errorf("the source is called %q, want %q", s, want)
		}
	}
}
