package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
)

// openaiClient is a client of the OpenAI API that implements only the protocol.
type openaiClient struct {
	t    *testing.T
	base string
}

// send sends a request that succeeds and returns the answer.
func (c *openaiClient) send(request, body string) io.Reader {
	c.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	c.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/v1"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = bearer(rightKey)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		c.t.Fatalf("%s: %s %s", request, resp.Status, text)
	}
	return resp.Body
}

// openaiEvent has the fields of response events and chat chunks that the test reads.
type openaiEvent struct {
	Type           string
	SequenceNumber int `json:"sequence_number"`
	Delta          string
	Response       struct {
		ID     string
		Output []struct {
			Type, Status string
			Content      []struct{ Text string }
		}
	}
	Choices []struct{ Delta struct{ Content string } }
	ID      string
}

// read reads events until it has the given number of deltas and stays connected; 0 reads to the
// end.
func (c *openaiClient) read(stream io.Reader, deltas int) (events []openaiEvent) {
	c.t.Helper()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		var e openaiEvent
		if !isData || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		events = append(events, e)
		if e.Delta != "" || len(e.Choices) > 0 && e.Choices[0].Delta.Content != "" {
			if deltas--; deltas == 0 {
				return events
			}
		}
	}
	return events
}

func TestResponsesAndCompletionsSurviveTheDeathOfTheirServer(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := mortal(t, store(t), "")
			s := f.start("127.0.0.1:0")
			c := &openaiClient{t, s.url}

			const function = `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]`
			var asked struct {
				Choices []struct{ Message json.RawMessage }
			}
			body := `{"model":"clerk",` + function + `,"messages":[{"role":"user","content":"Look once"}`
			if err := json.NewDecoder(c.send("POST /chat/completions", body+`]}`)).Decode(&asked); err != nil {
				t.Fatal(err)
			}
			chunks := c.read(c.send("POST /chat/completions", `{"model":"clerk","stream":true,"messages":[{"role":"user","content":"Tell a story"}]}`), 3)
			seen := c.read(c.send("POST /responses", `{"model":"clerk","background":true,"stream":true,"input":"Tell a story"}`), 3)
			s.kill()
			s = f.start(s.address)
			c.base = s.url

			id, last := seen[0].Response.ID, seen[len(seen)-1].SequenceNumber
			rest := c.read(c.send(fmt.Sprintf("GET /responses/%s?stream=true&starting_after=%d", id, last), ""), 0)
			whole := c.read(c.send("GET /responses/"+id+"?stream=true", ""), 0)
			if both := slices.Concat(seen, rest); fmt.Sprint(both) != fmt.Sprint(whole) {
				t.Errorf("the stream was %v, and is %v", both, whole)
			}
			for n, e := range whole {
				if e.SequenceNumber != n {
					t.Errorf("event %d has the number %d", n, e.SequenceNumber)
				}
			}
			end := whole[len(whole)-1]
			told := end.Response.Output[len(end.Response.Output)-1]
			if end.Type != "response.completed" || told.Content[0].Text != toldStory || told.Status != "completed" {
				t.Errorf("it ends with %+v", end)
			}

			// The completion's client and its connection are gone, but the run continues.
			reader, err := native.NewClient(native.ClientSettings{URL: s.url, Key: rightKey})
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			for record, err := range reader.Events(t.Context(), chunks[0].ID, 0) {
				if err != nil {
					t.Fatalf("after event %d: %v", record.Seq, err)
				}
			}
			if turn, err := reader.GetTurn(t.Context(), chunks[0].ID); err != nil || turn.Status != service.Succeeded || turn.Outcome.Response != toldStory {
				t.Errorf("%v: the turn is %+v", err, turn)
			}

			var call struct {
				Calls []struct{ ID string } `json:"tool_calls"`
			}
			if err := json.Unmarshal(asked.Choices[0].Message, &call); err != nil || len(call.Calls) != 1 {
				t.Fatalf("%v: %s", err, asked.Choices[0].Message)
			}
			var done struct {
				Choices []struct{ Message struct{ Content string } }
			}
			body += fmt.Sprintf(`,%s,{"role":"tool","tool_call_id":%q,"content":"seen once"}]}`, asked.Choices[0].Message, call.Calls[0].ID)
			if err := json.NewDecoder(c.send("POST /chat/completions", body)).Decode(&done); err != nil || done.Choices[0].Message.Content != "It was seen." {
				t.Errorf("%v: it is %+v", err, done)
			}
		})
	}
}
