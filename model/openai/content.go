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

// paragraph separates texts that the vendor streams separately.
const paragraph = "\n\n"

// blobReference returns the location of a blob's content: its URI, or a data URL that holds it.
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
	_, _ = w.Write(b.Data) // a strings.Builder never fails
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

// errorMark begins the result of a failed call: the API has no field for it.
const errorMark = "error: "

// markError returns text marked so that it is recognized as an error.
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

// callArguments returns the arguments of a call in the API's form. Servers that use the API for
// other models reject a string that is not an object.
func callArguments(c *model.ToolCall) string { return string(rawjson.Object(c.Arguments)) }

// cacheKeyLimit is the maximum length of the vendor's cache keys.
const cacheKeyLimit = 64

// cacheKey returns the key that routes a session's requests to the same cache, or "" without a
// session. The vendor caches without being asked.
func cacheKey(session string) string {
	if len(session) <= cacheKeyLimit {
		return session
	}
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:])
}
