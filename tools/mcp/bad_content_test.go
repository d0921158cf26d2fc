package mcp

import (
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

const (
	pngData = "iVBORw0KGgo=" // the signature alone
	gifData = "R0lGODlh"
)

// TestABadPartDoesNotCostTheResult calls a tool whose result has parts that the library does not
// read.
func TestABadPartDoesNotCostTheResult(t *testing.T) {
	t.Parallel()
	const list = `tools/list {"tools":[{"name":"x","title":null,"description":null,"annotations":null,"outputSchema":null,"_meta":null,"icons":null,"inputSchema":{"type":"object"}},` +
		`{"name":"y","annotations":{"readOnlyHint":null,"title":null},"inputSchema":{"type":"object","description":null}}]}`
	text := func(text string) model.Part { return model.Text(text) }
	image := func(media, data string) model.Part {
		return model.Part{Type: model.PartImage, Blob: &model.Blob{MediaType: media, Data: []byte(data)}}
	}
	for content, want := range map[string][]model.Part{
		`[{"type":"text","text":"a"},{"type":"hologram"}]`: {text("a"), text(`[content of type hologram that cannot be read: the type "hologram" is unknown]`)},
		`"a"`:                        {text("a")},
		`{"type":"text","text":"a"}`: {text("a")},
		`[null,"a"]`:                 {text("[content that cannot be read: it is null]"), text("a")},
		`[{"type":"text","text":"a","annotations":"x"}]`:                                           {text("a")},
		`[{"type":"resource"},{"type":"text","text":"a"}]`:                                         {text("[content of type resource that cannot be read: the resource is missing]"), text("a")},
		`[{"type":"image","data":"%%%","mimeType":"image/png"},{"type":"text","text":"a"}]`:        {text("[content of type image that cannot be read: illegal base64 data at input byte 0]"), text("a")},
		`[{"type":"image","data":"iVBORw0KGgo","mimeType":"image/png"}]`:                           {image("image/png", "\x89PNG\r\n\x1a\n")},
		`[{"type":"image","data":"data:image/png;base64,` + pngData + `","mimeType":"image/png"}]`: {image("image/png", "\x89PNG\r\n\x1a\n")},
		`[{"type":"image","data":"` + gifData + `","mimeType":"image/png"}]`:                       {image("image/gif", "GIF89a")},
		`[{"type":"image","data":"` + gifData + `"}]`:                                              {image("image/gif", "GIF89a")},
		`[{"type":"image","data":"AAEC","mimeType":"image/png"}]`:                                  {text("[content labeled image/png, but not such an image]")},
		`[{"type":"image","data":"","mimeType":"image/png"}]`:                                      {text("[image/png that is empty]")},
		`[{"type":"image","data":"PHN2Zy8+","mimeType":"image/svg+xml"}]`:                          {image("image/svg+xml", "<svg/>")},
		`null`: {text("[no output]")},
	} {
		t.Run(content, func(t *testing.T) {
			t.Parallel()
			s := ready(t, local(t, list+"\ntools/call "+`{"content":`+content+`}`))
			if got := memberIDs(s); got != "mcp__fake__x mcp__fake__y" {
				t.Fatalf("the tools are %s", got)
			}
			r := call(t.Context(), t, s, "x", `{}`)
			if diff := cmp.Diff(want, r.Content); diff != "" || r.IsError {
				t.Errorf("result (-want +got), error %t:\n%s", r.IsError, diff)
			}
		})
	}
}
