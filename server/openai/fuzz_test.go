package openai

import (
	"bytes"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/openai/internal/chat"
	"github.com/agentruntime/agentruntime/server/openai/internal/responses"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
)

// FuzzRequests: whatever a client sends is a turn, or refused in the vendor's terms.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		chatBody(said("hi"), `,"tools":[`+weatherTool+`],"stop":["a"]`), chatBody(`{"role":"tool","tool_call_id":"x"}`, ""),
		respond(`[{"type":"function_call_output","call_id":"call_x_1","output":"y"}]`, `,"tools":[`+weatherFunction+`]`),
		respond(`[{"role":"user","content":[{"type":"input_image","image_url":"data:,x"},{"type":"input_file","file_data":"?"}]}]`, `,"reasoning":{"summary":"auto"}`),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		check := func(err error) {
			refused, invalid := new(server.Refusal), new(service.InvalidError)
			if err != nil && !errors.As(err, &refused) && !errors.As(err, &invalid) {
				t.Errorf("%s gives %v", body, err)
			}
		}
		var chat chat.Request
		err := server.DecodeJSON(body, &chat, false)
		if check(err); err == nil {
			_, err = chat.ToTurn()
			check(err)
		}
		var r responses.Request
		err = server.DecodeJSON(body, &r, false)
		if check(err); err != nil || bytes.Contains(body, []byte("reference")) { // which asks the service
			return
		}
		_, err = r.ToTurn()
		check(err)
		in, err := responses.ReadInput(new(run.Call), r.Input)
		if check(err); err == nil {
			_, _, err = (&run.Request{Input: in, Field: "input"}).SplitInput()
			check(err)
		}
	})
}
