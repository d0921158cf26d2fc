package vendorhttp

import (
	"mime"
	"net/http"

	"github.com/agentruntime/agentruntime/model"
)

// MediaType returns the media type of a blob without parameters, found out
// from its content when it is not given. It is empty for a blob that is
// elsewhere and has none.
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
