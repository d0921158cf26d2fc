package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
)

// malformedBodies are the framing headers and the bytes after the header of requests with
// unreadable bodies. %s is a valid body.
var malformedBodies = map[string]struct{ header, body string }{
	"chunk size not hexadecimal": {"Transfer-Encoding: chunked", "zz\r\n%s\r\n0\r\n\r\n"},
	"negative chunk size":        {"Transfer-Encoding: chunked", "-1\r\n%s\r\n0\r\n\r\n"},
	"chunk size too large":       {"Transfer-Encoding: chunked", "fffffffffffffffff\r\n%s\r\n0\r\n\r\n"},
	"empty chunk size":           {"Transfer-Encoding: chunked", "\r\n%s\r\n0\r\n\r\n"},
	"chunk longer than its size": {"Transfer-Encoding: chunked", "1\r\n%s\r\n0\r\n\r\n"},
	"chunk cut short":            {"Transfer-Encoding: chunked", "ffff\r\n%s"},
	"no last chunk":              {"Transfer-Encoding: chunked", "1\r\n{\r\n"},
	"malformed trailer":          {"Transfer-Encoding: chunked", "1\r\n{\r\n0\r\nno trailer\r\n\r\n"},
	"Content-Length too large":   {"Content-Length: 65535", "%s"},
}

// unusableBodies can be read but not decoded.
var unusableBodies = map[string]struct{ header, body string }{
	"data after the document":  {"Transfer-Encoding: chunked", "2\r\n{}\r\n1\r\nx\r\n0\r\n\r\n"},
	"Content-Length too small": {"Content-Length: 1", "%s"},
	"gzip that is none":        {"Content-Encoding: gzip\r\nContent-Length: 5", "\x1f\x8b\x08xx"},
	"too many values":          {"Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(manyValues), manyValues)},
}

var manyValues = `{"x":[` + strings.Repeat("[],", server.MaxJSONValues) + `0]}`

// sendRaw sends a request with a raw body, closes the sending side of the connection, and returns
// the status and the start of the response.
func (v *visit) sendRaw(t *testing.T, header, body string) (status int, text string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(v.LocalURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(storeTime)); err != nil {
		t.Fatal(err)
	}
	method, path, valid := v.parts(v.made, "acme")
	media, version := "application/json", "1.0"
	if v.asked.form {
		media = "application/x-www-form-urlencoded"
	}
	if strings.Contains(path, "/v0.3") {
		version = "0.3"
	}
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nIf-Match: none\r\nContent-Type: %s\r\nA2A-Version: %s\r\nConnection: close\r\n%s\r\n\r\n%s",
		method, path, v.token(t, "acme", "ann", v.scopes...), media, version, header, strings.ReplaceAll(body, "%s", valid))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // a stream is cut off
	return resp.StatusCode, string(said)
}

// TestAMalformedBodyIsAnErrorOfTheClient sends malformed bodies to every route that reads
// one.
func TestAMalformedBodyIsAnErrorOfTheClient(t *testing.T) {
	w := newTown(t)
	for _, route := range w.Routes() {
		asks := rows[route.Pattern].asks
		if len(asks) == 0 || !strings.Contains(asks[0].request, "\n") {
			continue
		}
		v := visit{town: w, row: rows[route.Pattern], asked: asks[0], made: w.make(t, asks[0].request)}
		for name, m := range malformedBodies {
			if status, text := v.sendRaw(t, m.header, m.body); status != http.StatusBadRequest {
				t.Errorf("%s with %s: %d %s", route.Pattern, name, status, text)
			}
		}
		for name, m := range unusableBodies {
			status, text := v.sendRaw(t, m.header, m.body)
			rpc := status == http.StatusOK && strings.Contains(text, `"error":{"code":-32`) // JSON-RPC has no status
			refused := status >= http.StatusBadRequest && status < http.StatusInternalServerError || rpc
			if !refused || name == "too many values" && !v.asked.form && !strings.Contains(text, "500000 values") {
				t.Errorf("%s with %s: %d %s", route.Pattern, name, status, text)
			}
		}
	}
	if log := w.log.String(); strings.Contains(log, `"msg":"request failed"`) {
		t.Errorf("errors of clients are logged as failures of the server: %s", log)
	}
}
