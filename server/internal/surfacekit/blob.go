package surfacekit

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// BlobPart returns an image or a file whose URI is a data URL or a web address. The media type of a
// data URL takes precedence. An empty kind is derived from the media type. The error is a
// *service.InvalidError for path.
func BlobPart(kind model.PartType, b model.Blob, path string) (model.Part, error) {
	return parseBlob(kind, b, path, "http", "https")
}

// parseBlob is BlobPart for the given address schemes.
func parseBlob(kind model.PartType, b model.Blob, path string, schemes ...string) (model.Part, error) {
	head, encoded, isData := strings.Cut(b.URI, ",")
	if !isData || !hasPrefixFold(head, "data:") {
		u, err := url.Parse(b.URI)
		if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
			return model.Part{}, &service.InvalidError{Field: path, Problem: fmt.Sprintf("must be a data URL or an %s URL", strings.Join(schemes, " or "))}
		}
		return partOf(kind, &b), nil
	}
	media, isBase64 := cutSuffixFold(head[len("data:"):], ";base64")
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "=\r\n"))
	if err != nil || !isBase64 || len(data) == 0 {
		return model.Part{}, &service.InvalidError{Field: path, Problem: "must have data in base64"}
	}
	if media = cmp.Or(media, b.MediaType); media == "" {
		media, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	return partOf(kind, &model.Blob{MediaType: media, Data: data, Name: b.Name}), nil
}

// ArtifactFinder returns an artifact that the caller may read. For other IDs it returns
// service.ErrNotFound.
type ArtifactFinder func(id string) (*service.Artifact, error)

// ImageRef returns an image of Gestalt's protocols, whose URI has the scheme https, data or
// artifact. The error is a *service.InvalidError for path, or the error of find if the artifact
// may exist.
func ImageRef(ref model.Blob, path string, find ArtifactFinder) (model.Part, error) {
	scheme, rest, hasScheme := strings.Cut(ref.URI, ":")
	switch {
	case hasScheme && strings.EqualFold(scheme, "artifact"):
		found, err := find(rest)
		if errors.Is(err, service.ErrNotFound) {
			err = &service.InvalidError{Field: path, Problem: fmt.Sprintf("artifact %q not found", clip.Text(rest))}
		}
		if err != nil {
			return model.Part{}, err
		}
		ref = model.Blob{MediaType: found.MediaType, Data: found.Data, Name: found.Name}
	case hasScheme && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "data")):
		part, err := parseBlob(model.PartImage, ref, path, "https")
		if err != nil {
			return part, err
		}
		ref = *part.Blob
	case hasScheme:
		return model.Part{}, &service.InvalidError{Field: path, Problem: fmt.Sprintf("scheme %q is not supported: use https, data or artifact", clip.Text(scheme))}
	default:
		return model.Part{}, &service.InvalidError{Field: path, Problem: "must begin with https:, data: or artifact:"}
	}
	if ref.MediaType != "" && !hasPrefixFold(ref.MediaType, "image/") {
		return model.Part{}, &service.InvalidError{Field: path, Problem: fmt.Sprintf("media type %q is not an image", clip.Text(ref.MediaType))}
	}
	return model.Part{Type: model.PartImage, Blob: &ref}, nil
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func cutSuffixFold(s, suffix string) (string, bool) {
	n := len(s) - len(suffix)
	if n < 0 || !strings.EqualFold(s[n:], suffix) {
		return s, false
	}
	return s[:n], true
}

func partOf(kind model.PartType, b *model.Blob) model.Part {
	part := model.File(b)
	part.Type = cmp.Or(kind, part.Type)
	return part
}

// DataURL returns the address of a blob: its URI, or a URL that contains its data.
func DataURL(b *model.Blob) string {
	if len(b.Data) == 0 {
		return b.URI
	}
	return fmt.Sprintf("data:%s;base64,%s", b.MediaType, base64.StdEncoding.EncodeToString(b.Data))
}
