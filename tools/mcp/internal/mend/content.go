package mend

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// maxShown bounds the texts of a server in a note, in bytes.
const maxShown = 256

// contentPart is a part of a result's content with the fields that the library decodes strictly.
type contentPart struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Data        []byte          `json:"data"`
	MIMEType    string          `json:"mimeType"`
	URI         string          `json:"uri"`
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Size        *int64          `json:"size"`
	Resource    *resourcePart   `json:"resource"`
	Annotations *annotationPart `json:"annotations"`
	Meta        map[string]any  `json:"_meta"`
	Icons       []struct{}      `json:"icons"`
}

type resourcePart struct {
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType"`
	Text     string         `json:"text"`
	Blob     []byte         `json:"blob"`
	Meta     map[string]any `json:"_meta"`
}

type annotationPart struct {
	Audience     []string `json:"audience"`
	LastModified string   `json:"lastModified"`
	Priority     float64  `json:"priority"`
}

// mendContent mends a list of parts. Null becomes an empty list, and a single text or part a list
// of one.
func mendContent(content json.RawMessage) (json.RawMessage, bool) {
	var parts []json.RawMessage
	changed := false
	switch {
	case json.Unmarshal(content, &parts) != nil:
		parts, changed = []json.RawMessage{content}, true
	case parts == nil: // null
		return json.RawMessage(`[]`), true
	}
	for i, raw := range parts {
		if problem := partProblem(raw); problem != "" {
			parts[i], changed = replacePart(raw, problem), true
		}
	}
	if !changed {
		return content, false
	}
	mended, err := json.Marshal(parts)
	return mended, err == nil
}

// partProblem returns why the library cannot read a part; empty if it can.
func partProblem(raw json.RawMessage) string {
	var part *contentPart
	if err := json.Unmarshal(raw, &part); err != nil {
		return err.Error()
	}
	switch {
	case part == nil:
		return "it is null"
	case part.Type == "resource" && part.Resource == nil:
		return "the resource is missing"
	case !slices.Contains([]string{"text", "image", "audio", "resource_link", "resource"}, part.Type):
		return fmt.Sprintf("the type %q is unknown", part.Type)
	}
	return ""
}

// replacePart returns the readable text or data of a part, or else a note.
func replacePart(raw json.RawMessage, problem string) json.RawMessage {
	var text string
	var fields map[string]json.RawMessage
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return textPart(text)
	}
	_ = json.Unmarshal(raw, &fields) // nil unless it is an object
	var kind, media, data string
	_ = json.Unmarshal(fields["type"], &kind) // empty unless it is text
	_ = json.Unmarshal(fields["mimeType"], &media)
	if json.Unmarshal(fields["text"], &text) == nil && text != "" {
		return textPart(text)
	}
	if _ = json.Unmarshal(fields["data"], &data); data != "" && (kind == "image" || kind == "audio") {
		if decoded, err := decodeData(data); err == nil {
			encoded, _ := json.Marshal(map[string]any{"type": kind, "data": decoded, "mimeType": media}) // texts and bytes
			return encoded
		}
	}
	what := "content"
	if kind != "" {
		what += " of type " + clip.Visible(kind, maxShown)
	}
	return textPart(fmt.Sprintf("[%s that cannot be read: %s]", what, clip.Visible(problem, maxShown)))
}

func textPart(text string) json.RawMessage {
	encoded, _ := json.Marshal(map[string]string{"type": "text", "text": text}) // texts
	return encoded
}

// decodeData reads base64 in any of its alphabets, including from a data URL.
func decodeData(data string) ([]byte, error) {
	if _, after, ok := strings.Cut(data, ";base64,"); ok && strings.HasPrefix(data, "data:") {
		data = after
	}
	data = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", " ", "").Replace(strings.TrimRight(data, "= \r\n"))
	return base64.RawStdEncoding.DecodeString(data)
}
