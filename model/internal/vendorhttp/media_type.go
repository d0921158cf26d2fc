package vendorhttp

import (
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// MediaType returns the media type of a blob without parameters, detected from its content if not
// given. It is empty for a blob stored elsewhere that has none.
func MediaType(b *model.Blob) string {
	media := b.MediaType
	if media == "" && len(b.Data) > 0 {
		media = http.DetectContentType(b.Data)
	}
	if base, _, err := mime.ParseMediaType(media); err == nil {
		return base
	}
	return media
}

// IsImage reports whether a part holds an image.
func IsImage(p *model.Part) bool {
	return p.Blob != nil && (p.Type == model.PartImage || strings.HasPrefix(MediaType(p.Blob), "image/"))
}

// OmittedNote tells a model about a part that its vendor cannot read.
func OmittedNote(p *model.Part) string {
	return fmt.Sprintf("[%s of type %s, which cannot be shown]", p.Type, cmp.Or(MediaType(p.Blob), "unknown"))
}
