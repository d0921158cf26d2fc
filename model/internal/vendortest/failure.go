package vendortest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// NotAStream is the error for a successful answer that is not a stream.
const NotAStream = "something else than a stream"

// CheckRefusal refuses a request with a status and a body, and checks the error: its class, that
// its message contains said, and that it does not reveal the key. Its status is the response's, or
// none for an error that came with success.
func (v *Vendor) CheckRefusal(t *testing.T, status int, body string, class model.ErrorClass, said string) {
	t.Run(fmt.Sprintf("%d %.60s", status, body), func(t *testing.T) {
		events, failure := Ask(t, v.Serve(t, Refuse(status, body)), v.helloRequest())
		if failure == nil || len(events) > 0 {
			t.Fatalf("%d events, no error", len(events))
		}
		if status == http.StatusOK {
			status = 0
		}
		if failure.Class != class || failure.Status != status || !strings.Contains(failure.Message, said) {
			t.Errorf("the error is %v with the status %d, want %s: %s", failure, failure.Status, class, said)
		}
		if all := fmt.Sprintf("%v %+v %v", failure, failure, failure.Err); strings.Contains(all, v.Key[:5]) {
			t.Errorf("the error tells the key: %s", all)
		}
	})
}

// testSecretsAreKept has a server repeat the request.
func (v *Vendor) testSecretsAreKept(t *testing.T) {
	access := Access{APIKey: "plain-secret-0", Headers: map[string]string{
		"X-Gateway": "gateway-secret-1", "X-Other": "Token other-secret-2", "X-Short": "v1",
	}}
	echo := `bad key plain-secret-0, not ` + v.Key + ` or ` + v.MaskedKey + ` via gateway-secret-1 with other-secret-2 at v1`
	want := `bad key ***, not *** or *** via *** with *** at v1`
	for name, answer := range map[string]http.HandlerFunc{
		"refusal": Refuse(http.StatusUnauthorized, fmt.Sprintf(v.Refusal, echo)),
		"stream":  Answer(v.encodeEvents([][]byte{fmt.Appendf(nil, v.StreamError, echo)})...),
	} {
		if _, failure := Ask(t, v.serveAnswer(t, access, answer), v.helloRequest()); failure == nil || !strings.HasSuffix(failure.Message, want) {
			t.Errorf("%s: the error is %v", name, failure)
		}
	}
}

// endless is a reader that never ends.
type endless struct{ text string }

func (r endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		n += copy(p[n:], r.text)
	}
	return len(p), nil
}

// testEndless checks that a refusal, a line, and an event of many lines are not buffered without
// limit.
func (v *Vendor) testEndless(t *testing.T) {
	e := v.Offline(t, func(r *http.Request) (*http.Response, error) {
		res := StreamResponse(r, io.MultiReader(strings.NewReader(`{"error":"`), endless{"x"}))
		res.StatusCode = http.StatusInternalServerError
		return res, nil
	})
	if _, failure := Ask(t, e, v.helloRequest()); failure == nil || failure.Class != model.Provider {
		t.Errorf("the error is %v", failure)
	}
	streams := []io.Reader{
		io.MultiReader(strings.NewReader("data: "), endless{"x"}),
		io.MultiReader(strings.NewReader("data: "), endless{"data: x\n"}),
	}
	if v.Endless != nil {
		streams = v.Endless()
	}
	for i, stream := range streams {
		if _, failure := Ask(t, v.Replay(t, stream), v.helloRequest()); failure == nil || failure.Class != model.Provider || !strings.Contains(failure.Message, "too large") {
			t.Errorf("endless stream %d gives %v", i, failure)
		}
	}
}

// testTransportErrors checks that errors below HTTP reveal neither the key nor the request's
// address.
func (v *Vendor) testTransportErrors(t *testing.T) {
	for _, tt := range []struct {
		err   error
		class model.ErrorClass
	}{
		{os.ErrDeadlineExceeded, model.Timeout},
		{&url.Error{Op: "Post", URL: "http://x?key=" + v.Key, Err: io.ErrUnexpectedEOF}, model.Provider},
		{errors.New("proxy says " + v.Key), model.Provider},
	} {
		e := v.Offline(t, func(*http.Request) (*http.Response, error) { return nil, tt.err })
		_, failure := Ask(t, e, v.helloRequest())
		if failure == nil || failure.Class != tt.class || strings.Contains(failure.Error(), v.Key) || strings.Contains(failure.Message, "https:") {
			t.Errorf("%v becomes %v", tt.err, failure)
		}
	}
	e := v.Replay(t, io.MultiReader(bytes.NewReader(v.begunStream(t)), failing{}))
	if _, failure := Ask(t, e, v.helloRequest()); failure == nil || failure.Class != model.StreamInterrupted {
		t.Errorf("a read that fails becomes %v", failure)
	}
}

// testRetryAfter checks the forms in which a server asks to wait.
func (v *Vendor) testRetryAfter(t *testing.T) {
	for name, header := range map[string]http.Header{
		"seconds": {"Retry-After": {"12"}}, "milliseconds": {"Retry-After": {"1"}, "Retry-After-Ms": {"12000"}},
		"date": {"Retry-After": {time.Now().Add(12500 * time.Millisecond).UTC().Format(http.TimeFormat)}},
	} {
		e := v.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), header)
			Refuse(http.StatusTooManyRequests, `{}`)(w, r)
		})
		_, failure := Ask(t, e, v.helloRequest())
		if failure == nil || failure.RetryAfter != 12*time.Second && (name != "date" || failure.RetryAfter.Round(2*time.Second) != 12*time.Second) {
			t.Errorf("%s: the error is %v", name, failure)
		}
	}
}
