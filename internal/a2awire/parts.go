// Package a2awire provides the parts of A2A shared by clients and servers: the conversion of
// message parts, and the extension that sends a delegated turn's spending limit to a peer and
// returns its usage.
package a2awire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
)

// maxParts limits the parts of a message, and maxName the bytes kept of a file's name.
const (
	maxParts = 1000
	maxName  = 255
)

// unknownMedia is the default media type of content.
const unknownMedia = "application/octet-stream"

// Parts converts the texts, images and files of a message for a peer. Reasoning and tool calls
// are not sent.
func Parts(parts []model.Part) []*a2a.Part {
	out := make([]*a2a.Part, 0, len(parts))
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case model.PartText:
			if p.Text != "" {
				out = append(out, a2a.NewTextPart(p.Text))
			}
		case model.PartImage, model.PartFile:
			if p.Blob != nil {
				out = append(out, blobPart(p.Blob))
			}
		}
	}
	return out
}

func blobPart(b *model.Blob) *a2a.Part {
	p := &a2a.Part{MediaType: b.MediaType, Filename: b.Name, Content: a2a.Raw(b.Data)}
	if b.URI != "" {
		p.Content = a2a.URL(b.URI)
	} else if b.Data == nil {
		p.Content = a2a.Raw{} // a part requires content
	}
	return p
}

// A PartError explains why a peer's part is unusable.
type PartError struct {
	// Index is the part's position in its message, counted from 0.
	Index   int
	Problem string
}

// Error names the part and the problem.
func (e *PartError) Error() string {
	return fmt.Sprintf("part %d of the message %s", e.Index, e.Problem)
}

// A SizeError reports that a peer's message exceeds a limit.
type SizeError struct {
	// What names the exceeded unit: bytes or parts.
	What  string
	Limit int
}

// Error names the limit.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the message has more than %d %s", e.Limit, e.What)
}

// ModelParts converts a peer's parts. Bytes and URLs become images or files by media type,
// structured data becomes JSON text, and empty parts are dropped. It returns a *PartError for an
// unusable part, and a *SizeError for more than 1,000 parts or more than limit bytes of content; 0
// means no byte limit.
func ModelParts(parts []*a2a.Part, limit int) ([]model.Part, error) {
	if len(parts) > maxParts {
		return nil, &SizeError{What: "parts", Limit: maxParts}
	}
	out := make([]model.Part, 0, len(parts))
	size := 0
	for i, p := range parts {
		part, problem := modelPart(p)
		if problem != "" {
			return nil, &PartError{Index: i, Problem: problem}
		}
		if part.Type == "" {
			continue
		}
		if size += modelSize(&part); limit > 0 && size > limit {
			return nil, &SizeError{What: "bytes", Limit: limit}
		}
		out = append(out, part)
	}
	return out, nil
}

// modelPart converts one part. It returns the zero part for an empty one, or a problem.
func modelPart(p *a2a.Part) (part model.Part, problem string) {
	if p == nil {
		return model.Part{}, ""
	}
	switch content := p.Content.(type) {
	case a2a.Text:
		if content == "" {
			return model.Part{}, ""
		}
		return model.Text(string(content)), ""
	case a2a.Data:
		data, err := json.Marshal(content.Value)
		if err != nil {
			return model.Part{}, "has data that is not JSON"
		}
		return model.Text(string(data)), ""
	case a2a.Raw:
		media := p.MediaType
		if media == "" {
			media = http.DetectContentType(content)
		}
		return filePart(&model.Blob{MediaType: media, Data: content, Name: partName(p)}), ""
	case a2a.URL:
		if !isFetchable(string(content)) {
			return model.Part{}, "has a URL that is not absolute http or https"
		}
		media := p.MediaType
		if media == "" {
			media = unknownMedia
		}
		return filePart(&model.Blob{MediaType: media, URI: string(content), Name: partName(p)}), ""
	default:
		return model.Part{}, ""
	}
}

// filePart returns a blob as an image if it is one, otherwise as a file.
func filePart(b *model.Blob) model.Part {
	if media := b.MediaType; len(media) > len("image/") && strings.EqualFold(media[:len("image/")], "image/") {
		return model.Part{Type: model.PartImage, Blob: b}
	}
	return model.Part{Type: model.PartFile, Blob: b}
}

// partName returns the name of a part's file, truncated if too long.
func partName(p *a2a.Part) string {
	return clip.Head(p.Filename, maxName)
}

// isFetchable reports whether an address may be passed to a model vendor. Nothing here fetches it.
func isFetchable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func modelSize(p *model.Part) int {
	if p.Blob == nil {
		return len(p.Text)
	}
	return len(p.Blob.Data) + len(p.Blob.URI)
}

// Size returns the number of bytes in a part's content, without metadata.
func Size(p *a2a.Part) int {
	if p == nil {
		return 0
	}
	switch content := p.Content.(type) {
	case a2a.Text:
		return len(content)
	case a2a.Raw:
		return len(content)
	case a2a.URL:
		return len(content)
	case a2a.Data:
		data, _ := json.Marshal(content.Value) // invalid JSON is rejected elsewhere
		return len(data)
	default:
		return 0
	}
}

// Text concatenates the texts among parts without separators, because the parts may be chunks of
// one text. Structured data becomes JSON on separate lines.
func Text(parts []*a2a.Part) string {
	var b strings.Builder
	open, data := false, false // the last line is still open; it is data
	for _, p := range parts {
		text, isData := textOf(p)
		if text == "" {
			continue
		}
		if open && (isData || data) && text[0] != '\n' {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		open, data = text[len(text)-1] != '\n', isData
	}
	return b.String()
}

// Lines joins the texts among the parts of a complete message, each on its own lines. It omits
// structured data.
func Lines(parts []*a2a.Part) string {
	var b strings.Builder
	open := false // the last line is still open
	for _, p := range parts {
		if p == nil || p.Text() == "" {
			continue
		}
		text := p.Text()
		if open {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		open = text[len(text)-1] != '\n'
	}
	return b.String()
}

// Question returns the question in a message: its texts, for a person, and its first structured
// data, for a program, or nil. A message without text asks in its data.
func Question(parts []*a2a.Part) (text string, data any) {
	var b strings.Builder
	for _, p := range parts {
		if p == nil {
			continue
		}
		b.WriteString(p.Text())
		if data == nil {
			data = p.Data()
		}
	}
	if b.Len() == 0 {
		return Text(parts), data
	}
	return b.String(), data
}

func textOf(p *a2a.Part) (text string, isData bool) {
	if p == nil {
		return "", false
	}
	switch content := p.Content.(type) {
	case a2a.Text:
		return string(content), false
	case a2a.Data:
		data, err := json.Marshal(content.Value)
		if err != nil {
			return "", false
		}
		return string(data), true
	default:
		return "", false
	}
}
