package runsclient_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

// The frames of a valid run.
const (
	started  = "id: 1\nevent: started\ndata: {\"seq\":1,\"type\":\"started\",\"data\":{}}\n\n"
	delta    = "id: 2\nevent: assistant_delta\ndata: {\"seq\":2,\"type\":\"assistant_delta\",\"text\":\"Hi\",\"data\":{\"text\":\"Hi\"}}\n\n"
	callTool = "id: 3\nevent: assistant_message\ndata: {\"seq\":3,\"type\":\"assistant_message\",\"text\":\"Hi\",\"turn\":0,\"finishReason\":null,\"data\":{\"text\":\"Hi\",\"turn\":0,\"finishReason\":null}}\n\n"
	// short has lost its calls, of which usedTool is one.
	short    = "id: 3\nevent: assistant_message\ndata: {\"seq\":3,\"type\":\"assistant_message\",\"text\":\"H…\",\"turn\":0,\"finishReason\":null,\"truncated\":true,\"data\":{\"text\":\"H…\",\"turn\":0,\"finishReason\":null,\"truncated\":true}}\n\n"
	usedTool = "id: 4\nevent: tool_call\ndata: {\"seq\":4,\"type\":\"tool_call\",\"toolUseId\":\"c\",\"name\":\"n\",\"input\":{},\"data\":{\"toolUseId\":\"c\",\"name\":\"n\",\"input\":{}}}\n\n"
	ended    = "id: 9\nevent: cancelled\ndata: {\"seq\":9,\"type\":\"cancelled\",\"data\":{}}\n\n"
)

// TestWhatNoSDKCouldLiveWithIsSeen verifies that the client is suitable for testing a server.
func TestWhatNoSDKCouldLiveWithIsSeen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ stream, problem string }{
		"nothing":                   {started + ": keep-alive\n\n" + delta + callTool + ended, ""},
		"an end that is too early":  {started + delta, "the run goes on"},
		"an event twice":            {started + delta + delta, "comes after 2"},
		"no envelope":               {strings.Replace(started, `,"data":{}`, "", 1), "has no data"},
		"an envelope alone":         {started + strings.Replace(delta, `"text":"Hi","data"`, `"data"`, 1), "differs in its two places"},
		"another number":            {strings.Replace(started, "id: 1", "id: 2", 1), "says otherwise"},
		"no number":                 {strings.Replace(started, `"seq":1,`, "", 1), "has no seq"},
		"a frame of a number alone": {started + "id: 2\n\n", "0 lines of data"},
		"an unknown type":           {strings.ReplaceAll(started, "started", "begun"), "no known type"},
		"a field of another type":   {started + strings.ReplaceAll(delta, `"Hi"`, "1"), "has text: 1"},
		"a turn that is left out":   {started + strings.ReplaceAll(callTool, `"turn":0`, `"turn":1`), "comes after turn"},
		"a hidden tool":             {started + strings.ReplaceAll(delta, "Hi", "final_report"), "shows final_report"},
		"a message that is cut off": {started + delta + short + usedTool + ended, ""},
		"an invalid marker":         {started + delta + strings.ReplaceAll(short, `"truncated":true`, `"truncated":false`), "has truncated: false"},
		"a delta that is cut off":   {started + strings.ReplaceAll(delta, `"text":"Hi"`, `"text":"Hi","truncated":true`), "is cut off"},
		"a frame that is too large": {started + strings.ReplaceAll(delta, "Hi", strings.Repeat("Hi", 1<<18)), "1 lines of data"},
		"a last one that is larger": {started + strings.ReplaceAll(ended, `"data":{}`, `"reason":"`+strings.Repeat("Hi", 1<<18)+`","data":{"reason":"`+strings.Repeat("Hi", 1<<18)+`"}`), ""},
		"an invalid line":           {started + "datum: x\n\n", "belongs to no event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				w.Header().Set("Cache-Control", "no-cache, no-transform")
				_, _ = io.WriteString(w, tt.stream)
			}))
			defer s.Close()
			var err error
			for _, err = range runsclient.New(runsclient.Options{URL: s.URL, Workspace: workspace}).Events(t.Context(), "r", 0) {
				if err != nil {
					break
				}
			}
			wrong := new(runsclient.ProtocolError)
			if tt.problem == "" && err != nil || tt.problem != "" && (!errors.As(err, &wrong) || !strings.Contains(wrong.Problem, tt.problem)) {
				t.Errorf("the stream is followed with %v, want %q", err, tt.problem)
			}
		})
	}
}
