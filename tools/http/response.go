package http

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// errorLimit is how much of the body of an unsuccessful response is shown, in bytes.
const errorLimit = 2 << 10

// toResult converts a response into the call's result. It does not close the body.
func (t *tool) toResult(resp *http.Response) (tools.Result, error) {
	status := statusText(resp.StatusCode)
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		// The target is not shown: such URLs often carry tokens.
		return tools.ErrorResult(fmt.Sprintf("the server answered %s: redirects are not followed", status)), nil
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return t.failureResult(resp, status)
	case t.program.method == http.MethodHead:
		return tools.TextResult(describeHead(resp, status)), nil
	}
	c, err := t.readContent(resp, t.limit)
	if err != nil {
		return tools.Result{}, err
	}
	switch {
	case !c.isText:
		return tools.TextResult(fmt.Sprintf("[%s with %s: only text is shown]", status, c.describeBinary())), nil
	case c.text == "":
		return tools.TextResult(fmt.Sprintf("[%s without content]", status)), nil
	}
	result := tools.Result{Content: []model.Part{model.Text(c.clippedText(t.limit))}}
	if c.fitsIn(t.limit) && c.mayBeJSON() && json.Valid([]byte(c.text)) {
		result.Data = json.RawMessage(c.text)
	}
	return result, nil
}

func (t *tool) failureResult(resp *http.Response, status string) (tools.Result, error) {
	text := "the server answered " + status
	limit := min(t.limit, errorLimit)
	c, err := t.readContent(resp, limit)
	switch {
	case err != nil:
		// The status says more than why its explanation broke off.
	case !c.isText:
		text += " with " + c.describeBinary()
	case c.text != "":
		text += ": " + c.clippedText(limit)
	}
	return tools.ErrorResult(text), nil
}

func statusText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// describeHead describes a response without a body.
func describeHead(resp *http.Response, status string) string {
	var b strings.Builder
	b.WriteString(status)
	for _, name := range []string{contentType, "Content-Length", "Last-Modified", "Etag"} {
		if value := resp.Header.Get(name); value != "" {
			fmt.Fprintf(&b, "\n%s: %s", name, value)
		}
	}
	return b.String()
}

// readContent reads as much of a body as can be shown.
func (t *tool) readContent(resp *http.Response, limit int) (*content, error) {
	// To hide a secret at the end of the shown text, the whole secret must be read, so more is read
	// than shown.
	margin := t.program.longestSecret()
	most := limit + margin + utf8.UTFMax
	raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)))
	if err != nil {
		return nil, err
	}
	c := &content{complete: len(raw) < most, total: resp.ContentLength}
	if c.complete {
		c.total = int64(len(raw))
	}
	if raw = t.program.redactSecrets(raw); !c.complete {
		raw = trimCharacter(raw[:max(len(raw)-margin, 0)])
	}
	c.decodeText(raw, resp.Header.Get(contentType))
	return c, nil
}
