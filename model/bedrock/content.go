package bedrock

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// The vendor's format names, by media type.
var (
	imageFormats = map[string]string{"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
	videoFormats = map[string]string{
		"video/mp4": "mp4", "video/quicktime": "mov", "video/x-matroska": "mkv", "video/webm": "webm",
		"video/x-flv": "flv", "video/mpeg": "mpeg", "video/x-ms-wmv": "wmv", "video/3gpp": "three_gp",
	}
	audioFormats = map[string]string{
		"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/vnd.wave": "wav",
		"audio/ogg": "ogg", "audio/opus": "opus", "audio/flac": "flac", "audio/aac": "aac", "audio/mp4": "m4a", "audio/webm": "webm",
	}
	documentFormats = map[string]string{
		"application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "text/markdown": "md", "application/msword": "doc",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
		"application/vnd.ms-excel": "xls",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
	}
)

// attachment returns an image or file as a block.
func (w *writer) attachment(p *model.Part) (blockParam, error) {
	media := vendorhttp.MediaType(p.Blob)
	source := sourceParam{Bytes: p.Blob.Data}
	if len(source.Bytes) == 0 {
		if !strings.HasPrefix(p.Blob.URI, "s3://") {
			return blockParam{}, vendorhttp.InvalidRequest("the Converse API reads files by content or from s3://, not by URL", nil)
		}
		source.S3 = &storageParam{URI: p.Blob.URI}
	}
	if format := imageFormats[media]; format != "" {
		return blockParam{Image: &mediaParam{Format: format, Source: source}}, nil
	}
	if format := videoFormats[media]; format != "" {
		return blockParam{Video: &mediaParam{Format: format, Source: source}}, nil
	}
	if format := audioFormats[media]; format != "" {
		return blockParam{Audio: &mediaParam{Format: format, Source: source}}, nil
	}
	format := documentFormats[media]
	if format == "" && isText(media) && utf8.Valid(source.Bytes) {
		format = "txt"
	}
	if format == "" {
		return blockParam{}, vendorhttp.InvalidRequest("the Converse API does not accept files of type "+media, nil)
	}
	return blockParam{Document: &mediaParam{Format: format, Name: w.documentName(p.Blob.Name), Source: source}}, nil
}

func isText(media string) bool {
	return strings.HasPrefix(media, "text/") || media == "application/json" || media == "application/xml" || media == "application/yaml"
}

// resultBlocks returns the result of a call. A note replaces a file that the API cannot read there.
func (w *writer) resultBlocks(r *model.ToolResult) []blockParam {
	blocks := make([]blockParam, 0, len(r.Content))
	for i := range r.Content {
		p := &r.Content[i]
		switch {
		case p.Type == model.PartText && !isBlank(p.Text):
			blocks = append(blocks, blockParam{Text: p.Text})
		case p.Blob != nil:
			block, err := w.attachment(p)
			if err != nil || block.Audio != nil {
				block = blockParam{Text: vendorhttp.OmittedNote(p)}
			}
			blocks = append(blocks, block)
		}
	}
	switch {
	case len(blocks) > 0:
	case r.IsError:
		blocks = append(blocks, blockParam{Text: "the call failed"})
	default:
		blocks = append(blocks, blockParam{Text: "(no output)"})
	}
	return blocks
}

// documentName converts a name to the characters that the API allows, unique among the request's
// documents.
func (w *writer) documentName(name string) string {
	name = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-()[]", r):
			return r
		default:
			return ' '
		}
	}, name)), " ")
	if name == "" {
		name = "document"
	}
	name = name[:min(len(name), longestName)]
	unique := name
	for n := 2; w.names[unique]; n++ {
		unique = fmt.Sprintf("%s (%d)", name, n)
	}
	if w.names == nil {
		w.names = make(map[string]bool)
	}
	w.names[unique] = true
	return unique
}

// longestName keeps document names within the API's limit of 200 characters.
const longestName = 180

// isBlank reports whether the API rejects a text as empty.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
