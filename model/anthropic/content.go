package anthropic

import (
	"encoding/base64"
	"math"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/claude"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// userContent returns the blocks of a user message or of a message with call results.
func userContent(parts []model.Part) ([]contentBlock, error) {
	blocks := make([]contentBlock, 0, len(parts))
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == model.PartText && !isBlank(p.Text):
			blocks = append(blocks, newTextBlock(p.Text))
		case p.Type == model.PartToolResult && p.ToolResult != nil:
			blocks = append(blocks, toolResult(p.ToolResult))
		case p.Blob != nil:
			block, err := attachmentBlock(p)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, block)
		}
	}
	return blocks, nil
}

// toolResult returns the result of a call: text, images and files. A note replaces a file that the
// API cannot read.
func toolResult(r *model.ToolResult) *toolResultBlock {
	result := &toolResultBlock{ToolUseID: claude.CallID(r.CallID, math.MaxInt), IsError: r.IsError, Type: typeToolResult}
	for i := range r.Content {
		p := &r.Content[i]
		switch {
		case p.Type == model.PartText && !isBlank(p.Text):
			result.Content = append(result.Content, newTextBlock(p.Text))
		case p.Blob != nil:
			result.Content = append(result.Content, resultAttachment(p))
		}
	}
	if r.IsError && len(result.Content) == 0 { // the API requires the reason
		result.Content = append(result.Content, newTextBlock("the call failed"))
	}
	return result
}

func resultAttachment(p *model.Part) contentBlock {
	media := vendorhttp.MediaType(p.Blob)
	if vendorhttp.IsImage(p) && len(p.Blob.Data) > 0 && !readableImage(media) {
		return newTextBlock(vendorhttp.OmittedNote(p))
	}
	block, err := attachmentBlock(p)
	if err != nil {
		return newTextBlock(vendorhttp.OmittedNote(p))
	}
	return block
}

// readableImage reports whether the API reads images of a media type.
func readableImage(media string) bool {
	switch media {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	default:
		return false
	}
}

// attachmentBlock returns an image or file as one of the API's two blocks for them.
func attachmentBlock(p *model.Part) (*attachment, error) {
	media := vendorhttp.MediaType(p.Blob)
	if vendorhttp.IsImage(p) {
		return imageBlock(p.Blob, media), nil
	}
	return documentBlock(p.Blob, media)
}

func imageBlock(b *model.Blob, media string) *attachment {
	block := &attachment{Type: "image"}
	if len(b.Data) == 0 {
		block.Source = urlSource(b.URI)
		return block
	}
	block.Source = base64Source(b.Data, media)
	return block
}

// documentBlock returns a file: a PDF or any text. The API reads no others.
func documentBlock(b *model.Blob, media string) (*attachment, error) {
	block := &attachment{Title: b.Name, Type: "document"}
	switch {
	case len(b.Data) == 0:
		block.Source = urlSource(b.URI)
	case media == "application/pdf":
		block.Source = base64Source(b.Data, media)
	case utf8.Valid(b.Data):
		block.Source = &sourceParam{Data: new(string(b.Data)), MediaType: "text/plain", Type: "text"}
	default:
		return nil, vendorhttp.InvalidRequest("the Messages API does not accept files of type "+media, nil)
	}
	return block, nil
}

func urlSource(uri string) *sourceParam { return &sourceParam{URL: &uri, Type: "url"} }

func base64Source(data []byte, media string) *sourceParam {
	return &sourceParam{Data: new(base64.StdEncoding.EncodeToString(data)), MediaType: media, Type: "base64"}
}
