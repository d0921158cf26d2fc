package provider

import (
	"testing"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
)

func TestImagesAreOfTheWebOrInTheMessage(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"https://example.com/a.png":  "",
		"data:image/png;base64,AAAA": "",
		"http://example.com/a.png":   `parts[0]: image_ref.uri: scheme "http" is not supported: use https or data`,
		"file:///etc/passwd":         `parts[0]: image_ref.uri: scheme "file" is not supported: use https or data`,
		"gs://bucket/a.png":          `parts[0]: image_ref.uri: scheme "gs" is not supported: use https or data`,
	} {
		_, err := messageOf(&pb.AgentMessage{Role: "user", Parts: []*pb.AgentMessagePart{{
			Type: partTypes["image_ref"], ImageRef: &pb.AgentMessagePartImageRef{Uri: uri, MimeType: "image/png"},
		}}})
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
