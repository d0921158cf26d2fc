package vendorhttp

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
)

// refusalLimit is the maximum number of bytes read from a refusal.
const refusalLimit = 1 << 20

// readRefusal reports whether a response is a refusal, a redirect or a web page: gateways send
// error pages with a success status. It then reads and closes the body and returns its first MiB,
// because servers may repeat the request. Any other body is left alone.
func readRefusal(res *http.Response) (body []byte, refused bool) {
	if res.StatusCode < http.StatusMultipleChoices && (!isWebPage(res.Header) || beginsAnswer(res)) {
		return nil, false
	}
	// The readable part of the body is enough for a message.
	body, _ = io.ReadAll(io.LimitReader(res.Body, refusalLimit))
	_ = res.Body.Close()
	if len(body) == refusalLimit {
		body = closeDocument(body)
	}
	return body, true
}

func isWebPage(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "text/html"
}

// answerStarts are the beginnings of streams, of JSON and, last, of AWS streams.
var answerStarts = []string{"data:", "event:", "id:", "retry:", ":", "{", "[", "\x00"}

// beginsAnswer reports whether a body labeled as a web page begins like an answer. Some gateways
// label all bodies so. The bytes read stay in the body.
func beginsAnswer(res *http.Response) bool {
	in := bufio.NewReader(res.Body)
	res.Body = readCloser{in, res.Body}
	_, _ = in.Peek(1) // a later read reports it
	head, _ := in.Peek(in.Buffered())
	head = bytes.TrimLeft(bytes.TrimPrefix(head, byteOrderMark), " \t\r\n")
	return len(head) > 0 && slices.ContainsFunc(answerStarts, func(start string) bool {
		n := min(len(start), len(head))
		return string(head[:n]) == start[:n]
	})
}

// documentRefusal returns the error in a JSON document sent with a success status; nil for any
// other document.
func (a *API) documentRefusal(res *http.Response, document []byte) *model.Error {
	if _, known := a.protocol.Refusal(res.StatusCode, document); !known {
		return nil
	}
	return a.refusalError(res, document)
}

// refusalError returns the error for an answer that is not a stream.
func (a *API) refusalError(res *http.Response, body []byte) *model.Error {
	failure, known := a.protocol.Refusal(res.StatusCode, body)
	failure.Status = res.StatusCode
	if a.protocol.Refine != nil {
		a.protocol.Refine(failure, res.Header)
	}
	if failure.RetryAfter == 0 {
		failure.RetryAfter = retryAfter(res.Header, time.Now())
	}
	switch {
	case res.StatusCode < http.StatusMultipleChoices && !known:
		// A gateway's page.
		page := errNotAnAnswer()
		if text := strings.TrimSpace(string(body)); text != "" {
			page.Message += "; the server sent " + quoteStart([]byte(text))
		}
		return a.failures.named(page)
	case res.StatusCode < http.StatusMultipleChoices:
		failure.Status = 0
	case res.StatusCode < http.StatusBadRequest:
		failure.Message = a.redirectText(res)
	}
	return a.failures.named(failure)
}

// redirectText returns the message for a redirect, with the base URL that avoids it.
func (a *API) redirectText(res *http.Response) string {
	const text = "the server redirects; redirects are not followed, "
	to, err := res.Location()
	if err != nil || to.Host == "" || res.Request == nil {
		return text + "check base_url"
	}
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	below := strings.TrimPrefix(res.Request.URL.Path, strings.TrimSuffix(a.base.Path, "/"))
	if base, ok := strings.CutSuffix(to.Path, below); ok {
		to.Path, to.RawPath = base, ""
		return text + "set base_url to " + clip.Head(to.String(), longestAddress)
	}
	return text + "check base_url: the other address is " + clip.Head(to.String(), longestAddress)
}

// longestAddress bounds the addresses in messages, in bytes.
const longestAddress = 200

// MessageText returns the readable message of a refusal. Without a message it has the first of the
// vendor's named values that is set, or the status.
func MessageText(message string, status int, named ...[2]string) string {
	if message != "" {
		return strings.TrimSpace(message)
	}
	for _, n := range named {
		if n[1] != "" {
			return "the server gives the " + n[0] + " " + n[1]
		}
	}
	if text := http.StatusText(status); text != "" {
		return "the server says: " + text
	}
	return "the server does not say why"
}

// Mentions reports whether a message has one of the phrases, which are in lower case.
func Mentions(message string, phrases ...string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(message, phrase) })
}
