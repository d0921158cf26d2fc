package openai

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// blobReference returns where the content of a blob is: its URI, or a data URL
// that holds it.
func blobReference(b *model.Blob) string {
	if len(b.Data) == 0 {
		return b.URI
	}
	media := vendorhttp.MediaType(b)
	var url strings.Builder
	url.Grow(len("data:;base64,") + len(media) + base64.StdEncoding.EncodedLen(len(b.Data)))
	url.WriteString("data:")
	url.WriteString(media)
	url.WriteString(";base64,")
	w := base64.NewEncoder(base64.StdEncoding, &url)
	_, _ = w.Write(b.Data) // neither fails: a strings.Builder takes all
	_ = w.Close()
	return url.String()
}

// fileName returns the name of a file; the vendor requires an extension that matches the content
// type.
func fileName(b *model.Blob) string {
	if b.Name != "" {
		return b.Name
	}
	switch vendorhttp.MediaType(b) {
	case "application/pdf":
		return "file.pdf"
	case "application/json":
		return "file.json"
	case "text/csv":
		return "file.csv"
	case "text/markdown":
		return "file.md"
	case "text/html":
		return "file.html"
	case "text/plain":
		return "file.txt"
	default:
		return "file"
	}
}

// errorMark begins the result of a call that failed: the API has no field that
// would tell the model.
const errorMark = "error: "

// markError returns text so that it can be told for an error.
func markError(r *model.ToolResult, text string) string {
	switch {
	case !r.IsError:
		return text
	case text == "":
		return errorMark + "the call failed"
	case len(text) >= len("error") && strings.EqualFold(text[:len("error")], "error"):
		return text
	default:
		return errorMark + text
	}
}

// callArguments returns the arguments of a call as the API wants them. Servers that
// speak it for other models refuse a text that is not an object.
func callArguments(c *model.ToolCall) string { return string(rawjson.Object(c.Arguments)) }

// cacheKeyLimit is the longest cache key the vendor accepts.
const cacheKeyLimit = 64

// cacheKey returns the key that routes requests of a session to the same cache, or
// "" without a session. The vendor caches without being asked to.
func cacheKey(session string) string {
	if len(session) <= cacheKeyLimit {
		return session
	}
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:])
}
