package surfacetest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// wrongValues replace each value of a request, one at a time.
var wrongValues = []string{
	`null`, `true`, `7`, `-1`, `1e400`, `0.5`, `""`, `"zeta"`, `"\u0000"`, `"\ud800"`, `"../../etc/passwd"`, `[]`, `{}`, `[null]`, `[[[]]]`, `[{}]`, `{"":null}`, `{"type":7}`,
	`"` + strings.Repeat("x", 100_000) + `"`,
}

// SendWrongValues sends a request of alice once for each value in its body and each wrong value.
// The request's number replaces {n} in the path and body. No answer may be an internal error or
// break off, and a rejection must have a message. checks are called with the path of the value and
// each rejection.
func (w *World) SendWrongValues(request, body string, checks ...func(path string, r Reply)) {
	w.t.Helper()
	var whole any
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		w.t.Fatal(err)
	}
	n := 0
	send := func(path, body string) {
		n++
		replace := strings.NewReplacer("{n}", strconv.Itoa(n))
		resp, err := w.Send(w.t.Context(), "alice", replace.Replace(request), replace.Replace(body))
		if err != nil {
			w.t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		body = body[:min(len(body), 2000)]
		switch {
		case err != nil:
			w.t.Errorf("%s with another %s breaks off: %v\n%s", request, path, err, body)
		case resp.StatusCode >= http.StatusInternalServerError:
			w.t.Errorf("%s with another %s: %d %s\n%s", request, path, resp.StatusCode, answer, body)
		case resp.StatusCode >= http.StatusBadRequest && len(answer) < len(`{"error":"x"}`):
			w.t.Errorf("%s with another %s: the error %d says only %q", request, path, resp.StatusCode, answer)
		case resp.StatusCode >= http.StatusBadRequest:
			for _, check := range checks {
				check(path, Reply{resp.StatusCode, string(answer)})
			}
		}
	}
	for _, path := range valuePaths(whole, "") {
		for _, wrong := range wrongValues {
			send(path, replaceValue(whole, "", path, wrong))
		}
	}
}

// valuePaths returns the paths of the values of a document.
func valuePaths(v any, path string) []string {
	paths := []string{path}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			paths = append(paths, valuePaths(inner, path+"."+name)...)
		}
	case []any:
		for i, inner := range v {
			paths = append(paths, valuePaths(inner, path+"["+strconv.Itoa(i)+"]")...)
		}
	}
	return paths
}

// replaceValue returns a document as JSON, with the value at a path replaced by other JSON.
func replaceValue(v any, path, at, with string) string {
	if path == at {
		return with
	}
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			parts = append(parts, strconv.Quote(name)+":"+replaceValue(inner, path+"."+name, at, with))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		for i, inner := range v {
			parts = append(parts, replaceValue(inner, path+"["+strconv.Itoa(i)+"]", at, with))
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return "null" // not reached: it was JSON
		}
		return string(data)
	}
}

// Reply is the answer to a request.
type Reply struct {
	Status int
	Body   string
}

// SendTogether sends one request of alice per body, all at the same time. It fails the test if
// a response is an internal error or ends early.
func (w *World) SendTogether(request string, bodies []string, header ...string) []Reply {
	w.t.Helper()
	replies := make([]Reply, len(bodies))
	var sent sync.WaitGroup
	for i, body := range bodies {
		sent.Go(func() {
			resp, err := w.Send(w.t.Context(), "alice", request, body, header...)
			if err != nil {
				w.t.Error(err)
				return
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if replies[i] = (Reply{resp.StatusCode, string(answer)}); err != nil || resp.StatusCode >= http.StatusInternalServerError {
				w.t.Errorf("%s: %v after %d %s", request, err, resp.StatusCode, answer)
			}
		})
	}
	sent.Wait()
	return replies
}
