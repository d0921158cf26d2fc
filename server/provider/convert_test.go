package provider

import (
	"testing"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/service"
)

func TestImagesAreOfTheWebOrInTheMessageOrArtifacts(t *testing.T) {
	t.Parallel()
	kept := map[string]*service.Artifact{
		"picture": {MediaType: "image/png", Data: []byte("\x89PNG")}, "note": {MediaType: "text/plain", Data: []byte("hi")},
	}
	find := func(id string) (*service.Artifact, error) {
		if a := kept[id]; a != nil {
			return a, nil
		}
		return nil, service.ErrNotFound
	}
	const others = " is not supported: use https, data or artifact"
	for uri, problem := range map[string]string{
		"https://example.com/a.png":  "",
		"HTTPS://example.com/a.png":  "",
		"data:image/png;base64,AAAA": "",
		"DATA:image/png;BASE64,AAAA": "",
		"artifact:picture":           "",
		"Artifact:picture":           "",
		"artifact:note":              `: media type "text/plain" is not an image`,
		"artifact:other":             `: artifact "other" not found`,
		"artifact:":                  `: artifact "" not found`,
		"artifact://picture":         `: artifact "//picture" not found`,
		"artifact":                   " must begin with https:, data: or artifact:",
		"/etc/passwd":                " must begin with https:, data: or artifact:",
		"https":                      " must begin with https:, data: or artifact:",
		"https:a.png":                " must be a data URL or an https URL",
		"https://":                   " must be a data URL or an https URL",
		"data:":                      " must be a data URL or an https URL",
		"data:image/png,AAAA":        " must have data in base64",
		"data:text/html;base64,AAAA": `: media type "text/html" is not an image`,
		"http://example.com/a.png":   `: scheme "http"` + others,
		"file:///etc/passwd":         `: scheme "file"` + others,
		"gs://bucket/a.png":          `: scheme "gs"` + others,
		" https://example.com/a.png": `: scheme " https"` + others,
		"javascript:alert(1)":        `: scheme "javascript"` + others,
	} {
		_, err := messageOf(&pb.AgentMessage{Role: "user", Parts: []*pb.AgentMessagePart{{
			Type: partTypes["image_ref"], ImageRef: &pb.AgentMessagePartImageRef{Uri: uri, MimeType: "image/png"},
		}}}, find)
		want := problem
		if problem != "" {
			want = "parts[0]: image_ref.uri" + problem
		}
		if got := errorText(err); got != want {
			t.Errorf("%s: the error is %q, want %q", uri, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
