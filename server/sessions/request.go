package sessions

import (
	"cmp"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// readBody reads the body of a request. Unknown fields are ignored and listed in a response header;
// an empty body is an empty object.
func (c *call) readBody(into any) error {
	data, err := io.ReadAll(c.r.Body)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return nil
	}
	if err := server.DecodeJSON(data, into, false); err != nil {
		return err
	}
	server.WarnUnknownFields(c.w, c.r, c.settings.Logger, server.UnknownFields(data, into))
	return nil
}

// readKey returns the idempotency key of a request from its header, its body, or both. A blank
// key counts as missing.
func (c *call) readKey(inBody string) (string, error) {
	key := strings.TrimSpace(inBody)
	for _, value := range c.r.Header.Values(surfacekit.IdempotencyHeader) {
		value = strings.TrimSpace(value)
		if key != "" && value != "" && value != key {
			return "", badRequest("idempotency keys in header and body must match")
		}
		key = cmp.Or(key, value)
	}
	if len(key) > surfacekit.MaxIdempotencyKey || !utf8.ValidString(key) {
		return "", badRequest("the idempotency key must be at most %d bytes of text", surfacekit.MaxIdempotencyKey)
	}
	return key, nil
}

// readQuery returns the query with spaces trimmed from its values.
func (c *call) readQuery() url.Values {
	values := c.r.URL.Query()
	for _, list := range values {
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
	}
	return values
}

// listQuery is the query of a list of sessions or turns.
type listQuery struct {
	values  url.Values
	summary bool
	limit   int
}

// maxList is the maximum number of sessions or turns in a list, and summaryLimit the default number
// in the short form.
const (
	maxList      = 500
	summaryLimit = 100
)

// readListQuery reads the query of a list. The errors have the texts that clients match.
func (c *call) readListQuery() (*listQuery, error) {
	q := &listQuery{values: c.readQuery(), limit: maxList}
	if text := q.values.Get("summary"); text != "" {
		asked, err := strconv.ParseBool(text)
		if err != nil {
			return nil, badRequest("summary must be a boolean")
		}
		q.summary = asked
	}
	switch q.values.Get("view") {
	case "":
	case "summary":
		q.summary = true
	case "full":
		if q.summary {
			return nil, badRequest("view=full and summary=true contradict each other")
		}
	default:
		return nil, badRequest("view must be full or summary")
	}
	if q.summary {
		q.limit = summaryLimit
	}
	if q.values.Has("limit") {
		n, err := strconv.Atoi(q.values.Get("limit"))
		if err != nil || n < 1 || n > maxList {
			return nil, badRequest("limit must be between 1 and %d", maxList)
		}
		q.limit = n
	}
	return q, nil
}

// readWord reads a parameter with one of several values; empty if it is missing.
func (q *listQuery) readWord(name, what string, words ...string) (string, error) {
	text := q.values.Get(name)
	if text != "" && !slices.Contains(words, text) {
		return "", badRequest("unsupported agent %s %q", what, clip.Text(text))
	}
	return text, nil
}

// readPages fills a list from the pages after the cursor in the query; read adds a page's records to
// the list and returns the next cursor. The protocol has no pages, so a header has the last cursor.
func readPages[V any](c *call, q *listQuery, read func(list []V, page service.Page) ([]V, string, error)) ([]V, error) {
	list, after, err := surfacekit.CollectPages(q.values.Get("after"), q.limit, read)
	if errors.Is(err, service.ErrCursor) {
		return nil, badRequest("after is not a cursor of this list")
	}
	if after != "" {
		c.w.Header().Set("X-Next-After", after)
	}
	return list, err
}
