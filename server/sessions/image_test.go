package sessions

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// drawing is a tool that keeps an image.
type drawing []byte

func (drawing) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

func (d drawing) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	_, err := call.Session.KeepArtifact(tools.Artifact{Name: "a.png", MediaType: "image/png", Data: d})
	return tools.TextResult("drawn"), err
}

// TestImagesCanBeArtifacts shows a turn an image that an earlier turn kept, and hides it from
// callers who may not read it.
func TestImagesCanBeArtifacts(t *testing.T) {
	t.Parallel()
	picture := []byte("\x89PNG")
	rt, err := builder.New().WithProvider("main", echoModel{}).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "gpt-fast"}).
		WithModel(spec.Model{ID: "deep", ProviderID: "main", UpstreamModel: "gpt-deep"}).
		WithTool("read", drawing(picture)).WithAgentSpec(spec.Agent{ID: "clerk", ModelID: "fast"}).WithAgentSpec(spec.Agent{ID: "writer", ModelID: "fast"}).Build()
	if err != nil {
		t.Fatal(err)
	}
	providers := map[string]settings.SessionProvider{"clerk": {Agent: "clerk", Default: true}, "writer": {Agent: "writer"}}
	w := serving(t, providers, func(s *service.Settings) { s.Runtime = rt })
	made := w.begin("", "read")
	w.until(made.ID, "succeeded")
	alice := service.Caller{Tenant: "acme", Subject: "alice"}
	kept, err := w.service.ListArtifacts(t.Context(), alice, made.ID)
	if err != nil || len(kept) != 1 {
		t.Fatalf("the artifacts are %v: %v", kept, err)
	}
	uri := "artifact:" + kept[0].ID
	turnWith := func(uri string) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","parts":[{"type":"text","text":"look"},{"type":"image_ref","imageRef":{"uri":%q}}]}]}`, uri)
	}
	shown := do[turnView](w, "POST /agent/sessions/"+made.SessionID+"/turns", turnWith(uri))
	if got := shown.Messages[0].Parts[1].ImageRef.URI; got != uri {
		t.Errorf("the turn shows the image %q", got)
	}
	input, err := w.service.TurnInput(t.Context(), alice, shown.ID)
	if err != nil || len(input) != 1 || len(input[0].Parts) != 2 || input[0].Parts[1].Blob == nil || !bytes.Equal(input[0].Parts[1].Blob.Data, picture) {
		t.Errorf("the input is %+v: %v", input, err)
	}
	missing := `messages[0].parts[1].imageRef.uri: artifact \"` + kept[0].ID + `\" not found`
	for _, name := range []string{"bob", "eve", "amy"} {
		session := doAs[sessionView](w, name, "POST /agent/sessions", `{"provider":"writer"}`)
		status, text := w.ask(name, "POST /agent/sessions/"+session.ID+"/turns", turnWith(uri))
		if status != http.StatusBadRequest || !strings.Contains(text, missing) {
			t.Errorf("%s gets %d %s", name, status, text)
		}
	}
}
