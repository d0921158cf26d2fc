package vendorhttp

import (
	"io"
	"mime"
	"net/http"
)

// refusalLimit is how much of a refusal is read, in bytes.
const refusalLimit = 64 << 10

// readRefusal reports whether an answer is something else than a stream: a
// refusal, a redirect, or a whole document, as gateways send their error pages
// with a status of success. It then reads and closes the body, of which it
// returns the first 64 KiB. The body of a stream is left alone.
//
// It is meant to be called before a vendor's SDK: an SDK reads such a body
// without limit, and its error keeps the request with the key.
func readRefusal(res *http.Response) (body []byte, refused bool) {
	if res.StatusCode < http.StatusMultipleChoices && !isDocument(res.Header) {
		return nil, false
	}
	// What can be read of the body is good enough for a message.
	body, _ = io.ReadAll(io.LimitReader(res.Body, refusalLimit))
	_ = res.Body.Close()
	return body, true
}

func isDocument(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (media == "application/json" || media == "text/html")
}
