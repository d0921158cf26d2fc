package agentruns

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
)

// kept counts all sessions and turns that the store has.
func (w *world) kept() (sessions, turns int) {
	w.t.Helper()
	page := store.Page{Limit: store.MaxPage}
	s, err := w.store.Sessions(w.t.Context(), store.SessionQuery{Scope: store.Everything, Page: page})
	if err != nil {
		w.t.Fatal(err)
	}
	t, err := w.store.Turns(w.t.Context(), store.TurnQuery{Scope: store.Everything, Page: page})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(s.Sessions), len(t.Turns)
}

// refusal reads an answer that is to refuse a request in the documented shape, and
// returns its status and code.
func (w *world) refusal(method, path, body string, header ...string) string {
	w.t.Helper()
	status, answer := w.do(method, path, body, header...)
	if status < 400 || status > 499 || answer["error"] == "" || answer["code"] != answer["error"] || answer["message"] == "" {
		w.t.Errorf("%s %s %.60q: %d %v", method, path, body, status, answer)
	}
	return fmt.Sprint(status, " ", answer["code"])
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // a buffer takes everything
	_ = z.Close()
	return b.String()
}

func TestABodyThatIsNoneMakesNothing(t *testing.T) {
	t.Parallel()
	w := serving(t)
	session, _ := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"systemPrompt":"Obey."}`)["sessionId"].(string)
	run, call := w.waiting(lookRef)
	sessions, turns := w.kept()
	const good = `{"systemPrompt":"Obey.","prompt":"say hello"}`
	for _, path := range []string{"/agent-runs", "/agent-sessions", "/agent-sessions/" + session + "/messages", "/agent-runs/" + run + "/tool-results", "/agent-runs/" + run + "/interactions/" + call} {
		for _, body := range []string{
			"", " ", "no JSON", "null", "1", `"text"`, "true", "[]", "[" + good + "]", good + good, good + "x", good[:len(good)-1], `{"prompt":"a",}`, "{prompt:1}", "{'prompt':'a'}",
			"\ufeff" + good, "\x00" + good, good + "\x00", "{\"prompt\":\"a\x00b\"}", "{\"prompt\":\"a\nb\"}", "{\"prompt\":\"a\xffb\"}", "{\"prompt\":\"\xed\xa0\x80\"}", `{"prompt":"\x"}`, `{"prompt":"\u00"}`,
			"\xff\xfe{\x00}\x00", zipped(good), `{"x":01,"prompt":"a"}`, `{"x":+1}`, `{"x":NaN}`, `{"x":.5}`, `{"x":0x1}`,
			`{"x":` + strings.Repeat("[", 1<<20), `{"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
			`{"x":` + strings.Repeat(`{"x":`, 2000) + "1" + strings.Repeat("}", 2000) + `}`, "prompt=hello&systemPrompt=x", "--x\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nhello\r\n--x--\r\n",
		} {
			if got := w.refusal(http.MethodPost, path, body); got != "400 invalid_request" {
				t.Errorf("%s answers %.60q with %s", path, body, got)
			}
		}
	}
	if s, n := w.kept(); s != sessions || n != turns {
		t.Errorf("there were %d sessions and %d turns, and now %d and %d", sessions, turns, s, n)
	}
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+run+"/tool-results", `{"toolUseId":"`+call+`","result":"still there"}`)
	if list := w.events(run, ""); list[len(list)-1].data["text"] != "still there" {
		t.Errorf("the run ends with %v", list[len(list)-1].data)
	}
}

// What is in a body is said by the body: clients name all kinds of types.
func TestTheTypeOfABodyDoesNotMatterButItsCodingDoes(t *testing.T) {
	t.Parallel()
	w := serving(t).beyond()
	const good = `{"systemPrompt":"Obey.","prompt":"say hello"}`
	for _, kind := range []string{"application/json", "application/json; charset=utf-16", "application/x-www-form-urlencoded", "text/plain", "multipart/form-data", "x"} {
		if status, answer := w.do(http.MethodPost, "/agent-runs", good, "Content-Type", kind); status != http.StatusAccepted {
			t.Errorf("%s: %d %v", kind, status, answer)
		}
	}
	sessions, turns := w.kept()
	for _, coding := range []string{"gzip", "br", "deflate, gzip", "aes128gcm"} {
		for _, body := range []string{good, zipped(good)} {
			if got := w.refusal(http.MethodPost, "/agent-runs", body, "Content-Encoding", coding); got != "400 invalid_request" {
				t.Errorf("%s: %s", coding, got)
			}
		}
	}
	if s, n := w.kept(); s != sessions || n != turns {
		t.Errorf("there were %d sessions and %d turns, and now %d and %d", sessions, turns, s, n)
	}
	if status, answer := w.do(http.MethodPost, "/agent-runs", good, "Content-Encoding", "identity"); status != http.StatusAccepted {
		t.Errorf("%d %v", status, answer)
	}
}

func TestAFieldOfTheWrongTypeMakesNothing(t *testing.T) {
	t.Parallel()
	w := serving(t)
	values := []string{`1`, `-1`, `1.5`, `1e2`, `1e999`, `123456789012345678901234567890`, `true`, `false`, `"x"`, `"\ud800"`, `[]`, `[1]`, `[[]]`, `{}`, `{"a":1}`, `{"a":{}}`}
	for field, taken := range map[string]string{
		fieldAgentID: ``, fieldName: `"x" "\ud800"`, fieldSystemPrompt: `"x" "\ud800"`, fieldModelID: ``, fieldPrompt: `"x" "\ud800"`, fieldMessages: `[]`,
		fieldReasoningLevel: `1 1e2`, fieldTools: `[]`, fieldBudgets: `{} {"a":1} {"a":{}}`, fieldOutputSchema: ``,
		fieldLoopDetection: `false {} {"a":1} {"a":{}}`, fieldToolBudgets: `{}`, fieldMetadata: `{}`,
	} {
		for _, value := range values {
			given := map[string]string{fieldSystemPrompt: `"Obey."`, fieldPrompt: `"say hello"`, field: value}
			var parts []string
			for name, text := range given {
				parts = append(parts, fmt.Sprintf("%q:%s", name, text))
			}
			_, before := w.kept()
			status, answer := w.do(http.MethodPost, "/agent-runs", "{"+strings.Join(parts, ",")+"}")
			_, after := w.kept()
			want := strings.Contains(" "+taken+" ", " "+value+" ")
			message, _ := answer["message"].(string)
			switch {
			case (status == http.StatusAccepted) != want, (after > before) != want:
				t.Errorf("%s %s: %d %v, and then %d turns are %d", field, value, status, answer, before, after)
			case want:
			case status != http.StatusBadRequest && answer["code"] != codeForbidden || !strings.Contains(message, field) && !strings.Contains(message, "model") && !strings.Contains(message, "agent"):
				t.Errorf("%s %s: %d %v", field, value, status, answer)
			}
		}
	}
}

func TestAFieldThatIsThereTwiceIsRefused(t *testing.T) {
	t.Parallel()
	w := serving(t)
	status, answer := w.do(http.MethodPost, "/agent-runs", `{"systemPrompt":"Obey.","prompt":"say first","prompt":"say second"}`)
	if said, _ := answer["message"].(string); status != http.StatusBadRequest || !strings.Contains(said, `the key "prompt" is there twice`) {
		t.Errorf("%d %v", status, answer)
	}
}

func TestABodyThatIsTooLargeMakesNothing(t *testing.T) {
	t.Parallel()
	w := serving(t, func(s *setup) { s.server.Limits.MaxBodyBytes = 4 << 10 })
	session, _ := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"systemPrompt":"Obey."}`)["sessionId"].(string)
	run, _ := w.waiting(lookRef)
	sessions, turns := w.kept()
	large := `{"systemPrompt":"Obey.","prompt":"say hello","x":"` + strings.Repeat("x", 4<<10) + `"}`
	for _, path := range []string{"/agent-runs", "/agent-sessions", "/agent-sessions/" + session + "/messages", "/agent-runs/" + run + "/tool-results"} {
		if got := w.refusal(http.MethodPost, path, large); got != "413 too_large" {
			t.Errorf("%s, declared: %s", path, got)
		}
		// Nobody knows how large it becomes, and it never ends.
		if status := w.endless(path); status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s, without end: %d", path, status)
		}
	}
	if s, n := w.kept(); s != sessions || n != turns {
		t.Errorf("there were %d sessions and %d turns, and now %d and %d", sessions, turns, s, n)
	}
}

// endless sends a body in chunks without end, and returns the status of the answer,
// after which the connection must be closed.
func (w *world) endless(path string) int {
	w.t.Helper()
	c := w.dial()
	defer c.Close()
	fmt.Fprintf(c, "POST /api/v1/workspaces/%ss%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nTransfer-Encoding: chunked\r\n\r\n", w.as, path, w.as)
	var sent int
	done := make(chan struct{})
	go func() {
		defer close(done)
		for piece := fmt.Sprintf("%x\r\n%s\r\n", 1<<10, `{"x":"`+strings.Repeat("x", 1<<10-6)); ; sent += len(piece) {
			if _, err := io.WriteString(c, piece); err != nil {
				return
			}
		}
	}()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if _, err := in.ReadByte(); errors.Is(err, os.ErrDeadlineExceeded) {
		w.t.Error("the connection stays open")
	}
	<-done
	if most := 64 << 20; sent > most { // 16 MiB are read, and the system holds up to twice as much under way
		w.t.Errorf("%d bytes were taken in", sent)
	}
	return resp.StatusCode
}

// dial opens a connection to the server.
func (w *world) dial() net.Conn {
	w.t.Helper()
	c, err := new(net.Dialer).DialContext(w.t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestAResultForAnotherRunIsNotTaken(t *testing.T) {
	t.Parallel()
	w := serving(t)
	mine, call := w.waiting(lookRef)
	other, _ := w.waiting(`,"tools":[{"kind":"local","name":"see","parameters":{"type":"object"}}]`)
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+other+"/cancel", "")
	body := `{"toolUseId":"` + call + `x","result":"for another"}`
	if got := w.refusal(http.MethodPost, "/agent-runs/"+mine+"/tool-results", body); got != "404 unknown_tool_use" {
		t.Errorf("the call of nobody: %s", got)
	}
	for as, workspace := range map[string]string{"bob": "bobs", "ann": "alices"} {
		w.as = as
		at := "/api/v1/workspaces/" + workspace + "/agent-runs/" + mine + "/tool-results"
		if got := w.refusal(http.MethodPost, at, `{"toolUseId":"`+call+`","result":"mine now"}`); got != "404 not_found" {
			t.Errorf("%s: %s", as, got)
		}
	}
	w.as = "alice"
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+mine+"/tool-results", `{"toolUseId":"`+call+`","result":"seen"}`)
	if list := w.events(mine, ""); list[len(list)-1].data["text"] != "seen" {
		t.Errorf("it ends with %v", list[len(list)-1].data)
	}
}

// PostgreSQL takes neither the zero character nor bytes that are no UTF-8 as text.
func TestIDsAndTextsThatADatabaseCannotHold(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	if _, err := postgres.Migrate(t.Context(), store.Settings{DSN: dsn}); err != nil {
		t.Fatal(err)
	}
	kept, err := postgres.Open(t.Context(), store.Settings{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	if _, err := river.Migrate(t.Context(), kept.Pool()); err != nil {
		t.Fatal(err)
	}
	queue, err := river.New(kept.Pool(), river.Settings{Concurrency: 8})
	if err != nil {
		t.Fatal(err)
	}
	w := serving(t, func(s *setup) {
		s.service.Store, s.service.Dispatcher, s.service.Notifier = kept, queue, kept.Notifier()
	})
	for _, id := range []string{"%00", "%FF", "a%00b", "%ED%A0%80", "%0D%0A", strings.Repeat("x", 9000), "%2e%2e", "a%2Fb"} {
		for _, request := range []string{
			"GET /agent-runs/ID", "GET /agent-runs/ID/stream", "POST /agent-runs/ID/cancel", "POST /agent-runs/ID/tool-results",
			"GET /agent-sessions/ID", "POST /agent-sessions/ID/messages", "DELETE /agent-sessions/ID",
		} {
			method, path, _ := strings.Cut(strings.ReplaceAll(request, "ID", id), " ")
			if got := w.refusal(method, path, `{"toolUseId":"x","prompt":"x"}`); got != "404 not_found" {
				t.Errorf("%.60s: %s", path, got)
			}
		}
	}
	id := w.begin(`say a\u0000b`, `,"name":"\u0000","metadata":{"a":"\u0000\r\n"},"tools":[{"kind":"local","name":"look","description":"\u0000"}]`)
	list := w.events(id, "")
	if last := list[len(list)-1].data; last["type"] != typeResult {
		t.Errorf("it ends with %v", last)
	}
	run, call := w.waiting(lookRef)
	at := "/agent-runs/" + run + "/tool-results"
	if got := w.refusal(http.MethodPost, at, `{"toolUseId":"\u0000","result":"x"}`); got != "404 unknown_tool_use" {
		t.Error(got)
	}
	w.must(http.StatusOK, http.MethodPost, at, `{"toolUseId":"`+call+`","result":"a\u0000b\ud800"}`)
	list = w.events(run, "")
	if last := list[len(list)-1].data; last["text"] != "a\ufffdb\ufffd" {
		t.Errorf("it ends with %v", last)
	}
	for _, params := range []string{
		`{"message":{"role":"user","messageId":"\u0000","parts":[{"kind":"text","text":"say \u0000"}]}}`,
		`{"message":{"role":"user","messageId":"m","contextId":"\u0000","parts":[{"kind":"text","text":"say hello"}]}}`,
	} {
		status, answer := w.do(http.MethodPost, "/api/a2a/alices/agents/clerk", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":`+params+`}`)
		failed, _ := answer["error"].(map[string]any)
		if status != http.StatusOK || failed != nil && failed["code"] == -32603.0 {
			t.Errorf("%s: %d %v", params, status, answer)
		}
	}
}

// lines is a log of one line each entry.
type lines struct{ bytes.Buffer }

// Sync writes nothing more.
func (*lines) Sync() error { return nil }

func TestALineOfTheLogIsALine(t *testing.T) {
	t.Parallel()
	var out lines
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(zapcore.EncoderConfig{MessageKey: "message", LineEnding: "\n"}), zapcore.Lock(&out), zap.DebugLevel)
	w := serving(t, func(s *setup) { s.server.Logger, s.settings.Logger = zap.New(core), zap.New(core) })
	const forged = "x%0D%0Arequest%09{%22status%22:200}%0A%1B%5B2J"
	requests, audits := 0, 0
	for _, path := range []string{"/agent-runs/" + forged, "/agent-runs/" + forged + "/stream", "/agent-sessions/" + forged, "/" + forged} {
		resp := w.request(http.MethodGet, path, "", "X-Request-Id", "a b", "User-Agent", "x\tforged")
		_ = resp.Body.Close()
		requests++
		for name, values := range resp.Header {
			if strings.Contains(strings.Join(values, ""), "forged") {
				t.Errorf("the header %s has %q", name, values)
			}
		}
	}
	for _, body := range []string{
		`{"systemPrompt":"Obey.","prompt":"say hello","metadata":{"a\r\nSet-Cookie: x":"b"}}`, `{"systemPrompt":"Obey.","prompt":"say hello","metadata":{"a":"b"},"modelId":"x\r\ny"}`,
		`{"agentId":"x\r\ny","prompt":"say hello"}`, `{"systemPrompt":"Obey.","prompt":"say hello","tools":[{"kind":"mcp","name":"x","url":"https://x.example","headers":{"A\r\nB":"c"}}]}`,
		`{"systemPrompt":"Obey.","prompt":"say hello","tools":[{"kind":"a2a","name":"x","agentCardUrl":"https://x.example","headers":{"A":"c\r\nB: d"}}]}`,
		`{"systemPrompt":"Obey.","prompt":"say hello","tools":[{"kind":"mcp","name":"x","url":"https://x.example/\r\nHost: y"}]}`,
	} {
		if got := w.refusal(http.MethodPost, "/agent-runs", body); got != "400 invalid_request" && got != "400 invalid_model" {
			t.Errorf("%s: %s", body, got)
		}
		requests, audits = requests+1, audits+1
	}
	id := w.begin("say hello", `,"metadata":{"a":"b\r\nSet-Cookie: c=d"}`)
	requests, audits = requests+1, audits+1
	resp := w.request(http.MethodGet, "/agent-runs/"+id, "")
	_ = resp.Body.Close()
	requests++
	if resp.Header.Get("Set-Cookie") != "" {
		t.Error("the metadata is a header")
	}
	w.stop()
	text := out.String()
	begin := func(word string) int { return strings.Count("\n"+text, "\n"+word+"\t") }
	if n := strings.Count(text, "\n"); n != requests+audits || begin("request") != requests || begin("audit") != audits || strings.ContainsAny(text, "\r\x1b") {
		t.Errorf("%d requests, %d of them audited, are in %d lines:\n%q", requests, audits, n, text)
	}
}
