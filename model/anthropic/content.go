package anthropic

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	sdk "github.com/anthropics/anthropic-sdk-go"
)

// userContent returns the blocks of a message from the user, or of one that
// carries the results of calls.
func userContent(parts []model.Part) ([]sdk.ContentBlockParamUnion, error) {
	blocks := make([]sdk.ContentBlockParamUnion, 0, len(parts))
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == model.PartText && !isBlank(p.Text):
			blocks = append(blocks, sdk.NewTextBlock(p.Text))
		case p.Type == model.PartToolResult && p.ToolResult != nil:
			result, err := toolResult(p.ToolResult)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, sdk.ContentBlockParamUnion{OfToolResult: result})
		case p.Blob != nil:
			image, document, err := attachmentBlock(p)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, sdk.ContentBlockParamUnion{OfImage: image, OfDocument: document})
		}
	}
	return blocks, nil
}

// toolResult returns the result of a call: text, images and files.
func toolResult(r *model.ToolResult) (*sdk.ToolResultBlockParam, error) {
	result := &sdk.ToolResultBlockParam{ToolUseID: callID(r.CallID)}
	for i := range r.Content {
		p := &r.Content[i]
		switch {
		case p.Type == model.PartText && !isBlank(p.Text):
			result.Content = append(result.Content, resultText(p.Text))
		case p.Blob != nil:
			image, document, err := attachmentBlock(p)
			if err != nil {
				return nil, err
			}
			result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfImage: image, OfDocument: document})
		}
	}
	if r.IsError {
		result.IsError = sdk.Bool(true)
		if len(result.Content) == 0 { // the API wants to know what went wrong
			result.Content = append(result.Content, resultText("the call failed"))
		}
	}
	return result, nil
}

func resultText(text string) sdk.ToolResultBlockParamContentUnion {
	return sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: text}}
}

// attachmentBlock returns an image or a file, as one of the two blocks that the API
// has for them.
func attachmentBlock(p *model.Part) (*sdk.ImageBlockParam, *sdk.DocumentBlockParam, error) {
	media := vendorhttp.MediaType(p.Blob)
	if p.Type == model.PartImage || strings.HasPrefix(media, "image/") {
		return imageBlock(p.Blob, media), nil, nil
	}
	d, err := documentBlock(p.Blob, media)
	return nil, d, err
}

func imageBlock(b *model.Blob, media string) *sdk.ImageBlockParam {
	var block sdk.ImageBlockParam
	if len(b.Data) == 0 {
		block.Source.OfURL = &sdk.URLImageSourceParam{URL: b.URI}
		return &block
	}
	block.Source.OfBase64 = &sdk.Base64ImageSourceParam{
		Data: base64.StdEncoding.EncodeToString(b.Data), MediaType: sdk.Base64ImageSourceMediaType(media),
	}
	return &block
}

// documentBlock returns a file: a PDF, or a text of any kind. The API reads no other.
func documentBlock(b *model.Blob, media string) (*sdk.DocumentBlockParam, error) {
	var block sdk.DocumentBlockParam
	switch {
	case len(b.Data) == 0:
		block.Source.OfURL = &sdk.URLPDFSourceParam{URL: b.URI}
	case media == "application/pdf":
		block.Source.OfBase64 = &sdk.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(b.Data)}
	case utf8.Valid(b.Data):
		block.Source.OfText = &sdk.PlainTextSourceParam{Data: string(b.Data)}
	default:
		return nil, &model.Error{
			Class:   model.InvalidRequest,
			Message: fmt.Sprintf("the Messages API does not accept files of type %s", media),
		}
	}
	if b.Name != "" {
		block.Title = sdk.String(b.Name)
	}
	return &block, nil
}
