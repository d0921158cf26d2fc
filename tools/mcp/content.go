package mcp

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
		return model.Text("[" + cmp.Or(clip.Visible(mediaType, maxName), "content") + " that is empty]")
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
