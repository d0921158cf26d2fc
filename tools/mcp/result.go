package mcp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// convertResult converts a server's result. A result that violates the tool's declaration is an
// error for the model.
func (t *tool) convertResult(ctx context.Context, r *mcp.CallToolResult) tools.Result {
	result := tools.Result{IsError: r.IsError, Content: contentParts(r.Content)}
	if r.StructuredContent != nil {
		data, err := structuredContent(r)
		if err != nil {
			return tools.ErrorResult(fmt.Sprintf("tool %s returned a structured result that is not JSON", t.name))
		}
		result.Data = data
	}
	if problem := t.outputMismatch(ctx, &result); problem != "" {
		return tools.ErrorResult(fmt.Sprintf("tool %s returned a result that does not fit its output schema: %s", t.name, problem))
	}
	if len(result.Content) == 0 && len(result.Data) == 0 {
		result.Content = []model.Part{model.Text("[no output]")}
	}
	return result
}

// outputMismatch returns where a result violates the output schema; empty if it does not. An error
// need not match the schema.
func (t *tool) outputMismatch(ctx context.Context, r *tools.Result) string {
	if t.output == nil || r.IsError {
		return ""
	}
	if r.Data == nil {
		return "it has no structured content"
	}
	found, err := t.output.ValidateJSON(ctx, r.Data)
	if err != nil {
		return err.Error()
	}
	return violationText(found)
}

// violationText lists the first few violations.
func violationText(found []schema.Violation) string {
	const shown = 3
	texts := make([]string, 0, shown+1)
	for i, v := range found {
		if i == shown {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, cleanText(v.Error(), maxName))
	}
	return strings.Join(texts, "; ")
}

// contentParts returns the content of a result as parts of a message.
func contentParts(content []mcp.Content) []model.Part {
	out := make([]model.Part, 0, len(content))
	for _, c := range content {
		switch c := c.(type) {
		case *mcp.TextContent:
			out = append(out, model.Text(c.Text))
		case *mcp.ImageContent:
			out = append(out, blobPart(c.MIMEType, c.Data, ""))
		case *mcp.AudioContent:
			out = append(out, blobPart(c.MIMEType, c.Data, ""))
		case *mcp.ResourceLink:
			out = append(out, model.Text(linkText(c)))
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				out = append(out, resourceParts(c.Resource)...)
			}
		default:
			out = append(out, model.Text("[content of a kind that is not supported]"))
		}
	}
	return out
}

// blobPart returns bytes as an image, or as a file if they are not one. An image with the label of
// another type gets its own label, since vendors reject the request otherwise.
func blobPart(mediaType string, data []byte, name string) model.Part {
	found, _, _ := strings.Cut(http.DetectContentType(data), ";")
	switch isImage := strings.HasPrefix(found, "image/"); {
	case len(data) == 0:
		return model.Text("[" + cmp.Or(cleanText(mediaType, maxName), "content") + " that is empty]")
	case isImage && (mediaType == "" || strings.HasPrefix(mediaType, "image/")):
		mediaType = found
	case mediaType == "":
		mediaType = "application/octet-stream"
	case isImage || !slices.Contains(detectedImages, mediaType):
	case strings.HasPrefix(found, "text/"):
		mediaType = found
	default:
		return model.Text("[content labeled " + mediaType + ", but not such an image]")
	}
	return model.File(&model.Blob{MediaType: mediaType, Data: data, Name: name})
}

// detectedImages are the image media types that can be detected from the bytes.
var detectedImages = []string{"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/bmp"}

// resourceParts returns an embedded resource, preceded by its URI so that the model can refer to
// it.
func resourceParts(r *mcp.ResourceContents) []model.Part {
	text := "[resource " + r.URI
	if r.MIMEType != "" {
		text += ", " + r.MIMEType
	}
	text += "]"
	if len(r.Blob) > 0 {
		return []model.Part{model.Text(text), blobPart(r.MIMEType, r.Blob, path.Base(r.URI))}
	}
	return []model.Part{model.Text(text + "\n" + r.Text)}
}

// linkText describes a resource that was not sent. It is text, not a file, because a model vendor
// could not fetch it.
func linkText(l *mcp.ResourceLink) string {
	text := "[resource " + l.URI
	if l.Name != "" {
		text += ", " + l.Name
	}
	if l.MIMEType != "" {
		text += ", " + l.MIMEType
	}
	text += "]"
	if l.Description != "" {
		text += " " + l.Description
	}
	return text
}
