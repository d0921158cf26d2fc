package a2a_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Whatever an agent answers, keeps or asks, no event of a stream is larger than 1 MiB,
// and together they have all of it: while it comes about, and when it is asked for
// again.
func TestNoEventIsTooLarge(t *testing.T) {
	large := strings.Repeat("<\u00e4>", 160<<10) // 14 bytes each as JSON
	file := strings.Repeat("file", 300<<10)
	object := `{"text":"` + strings.Repeat("\u00e4", 600<<10) + `"}`
	form := &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`), OnMismatch: spec.MismatchAccepted}
	for name, tt := range map[string]struct {
		options []option
		replies []reply
		want    string
	}{
		"text":             {nil, []reply{says(large[:1<<19], large[1<<19:])}, large},
		"text, as message": {[]option{withMessages}, []reply{says(large)}, large},
		"data":             {[]option{withForm(form)}, []reply{says(object)}, object},
		"data, as message": {[]option{withForm(form), withMessages}, []reply{says(object)}, object},
		"file":             {[]option{withTool("keep", keeping(tools.Artifact{Name: "f", MediaType: "text/plain", Data: []byte(file)}).Call)}, []reply{calls("keep", `{}`), says("done")}, file},
		"question":         {nil, []reply{asks("1", large), says("done")}, ""},
	} {
		w := open(t, tt.options...)
		w.model.teach("go", tt.replies...)
		for _, over := range transports {
			c := w.client("alice", "clerk", over)
			message := user("go")
			for _, when := range []string{"at first", "again"} {
				list, err := events(c.SendStreamingMessage(t.Context(), request(message)))
				if err != nil || len(list) == 0 {
					t.Errorf("%s over %s, %s: %d events, %v", name, over, when, len(list), err)
					continue
				}
				for _, ev := range list {
					data, err := json.Marshal(a2a.StreamResponse{Event: ev})
					if err != nil {
						t.Fatal(err)
					}
					if len(data) > 1<<20 {
						t.Errorf("%s over %s, %s: a %T has %d bytes", name, over, when, ev, len(data))
					}
				}
				went := states(list)
				content, _ := assembled(list)
				if tt.want == "" {
					if went[len(went)-1] != a2a.TaskStateInputRequired {
						t.Errorf("%s over %s, %s: the states are %v", name, over, when, went)
					}
					continue
				}
				if len(went) == 0 || went[len(went)-1] != a2a.TaskStateCompleted || slices.Contains(went[:len(went)-1], a2a.TaskStateCompleted) {
					t.Errorf("%s over %s, %s: the states are %v", name, over, when, went)
				}
				found := false
				for _, text := range content {
					found = found || text == tt.want
				}
				if !found {
					t.Errorf("%s over %s, %s: the content does not come", name, over, when)
				}
			}
		}
	}
}

// withForm makes the clerk answer in a form.
func withForm(form *spec.OutputSchema) option {
	return func(s *setup) { s.agents[0].OutputSchema = form }
}
