package vendortest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

var (
	sentName     = regexp.MustCompile(`"name":"([^"]*)"`)
	acceptedName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$|^[A-Za-z0-9_-]{65,128}$`)
	weatherName  = regexp.MustCompile(`w_ather_[0-9a-f]{8}`)
)

// testToolNames offers tools with names that vendors reject. The model calls one by the name that
// it was sent.
func (v *Vendor) testToolNames(t *testing.T) {
	recorded, err := os.ReadFile(filepath.Join(v.Folder, v.Calls+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	e := v.serveAnswer(t, Access{APIKey: v.Key}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v.CheckBody(t, body)
		bodies = append(bodies, string(body))
		for _, name := range sentName.FindAllStringSubmatch(string(body), -1) {
			if !acceptedName.MatchString(name[1]) {
				t.Errorf("the name %q is sent", name[1])
			}
		}
		stream := bytes.ReplaceAll(recorded, []byte("weather"), []byte(weatherName.FindString(string(body))))
		Answer(v.encodeEvents(splitEvents(stream))...)(w, r)
	})
	req := v.helloRequest()
	for _, name := range []string{"a/b", "größe", strings.Repeat("x", 140), "now", "w.ather"} {
		req.Tools = append(req.Tools, model.Tool{Name: name, Description: "Looks."})
	}
	req.ToolChoice = model.ToolChoice{Mode: model.ToolsNamed, Name: "w.ather"}
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, Parts: []model.Part{ToolCall("call_1", "w.ather", `{}`), ToolCall("call_2", "functions.made up", `{}`)}},
		model.Message{Role: model.RoleTool, Parts: []model.Part{
			ToolResult("call_1", "w.ather", false, model.Text("Rain.")), ToolResult("call_2", "functions.made up", true, model.Text("no such tool")),
		}},
	)
	for range 2 {
		called := 0
		events, failure := Ask(t, e, req)
		for _, ev := range events {
			switch {
			case ev.Type != model.EventToolCallStart:
			case ev.Name == "w.ather":
				called++
			case ev.Name != "now":
				t.Errorf("the call is one of %q", ev.Name)
			}
		}
		if called == 0 || failure != nil {
			t.Errorf("%d calls of the tool, %v", called, failure)
		}
	}
	if len(bodies) != 2 || bodies[0] != bodies[1] {
		t.Errorf("the requests differ: %s", bodies)
	}
	refusing := v.serveAnswer(t, Access{APIKey: v.Key}, Refuse(http.StatusBadRequest, fmt.Sprintf(v.Refusal, "tools[0].function_declarations[4]: tools.4 is bad")))
	if _, failure := Ask(t, refusing, req); failure == nil || !strings.HasSuffix(failure.Message, ` (tool "w.ather")`) {
		t.Errorf("the refusal is %v", failure)
	}
	if req.Tools[0].Name != "a/b" || req.Messages[1].Parts[0].ToolCall.Name != "w.ather" {
		t.Error("the request was changed")
	}
}

// testBlankToolNames returns calls whose name is white space.
func (v *Vendor) testBlankToolNames(t *testing.T) {
	recorded, err := os.ReadFile(filepath.Join(v.Folder, v.Calls+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	stream := bytes.ReplaceAll(recorded, []byte(`"weather"`), []byte(`" "`))
	events, failure := Ask(t, v.serveAnswer(t, Access{APIKey: v.Key}, Answer(v.encodeEvents(splitEvents(stream))...)), v.helloRequest())
	if failure == nil || failure.Class != model.Provider || !strings.Contains(failure.Message, "a tool call has no name") {
		t.Errorf("the answer ends with %v", failure)
	}
	for _, ev := range events {
		if ev.Type == model.EventToolCallStart && ev.Name == "" {
			t.Errorf("call %d starts without a name", ev.Index)
		}
	}
}
