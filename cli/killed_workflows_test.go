package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/server/workflows"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
)

// oracle is a model that outlives the servers and counts its prompts and answers.
type oracle struct {
	*httptest.Server

	mu              sync.Mutex
	asked, answered map[string]int
	// held is closed to answer the prompts that begin with hold.
	held chan struct{}
}

func newOracle(t *testing.T) *oracle {
	o := &oracle{asked: make(map[string]int), answered: make(map[string]int), held: make(chan struct{})}
	o.Server = httptest.NewServer(http.HandlerFunc(o.answer))
	t.Cleanup(o.Close)
	return o
}

// answer answers a prompt with its last word.
func (o *oracle) answer(w http.ResponseWriter, r *http.Request) {
	var req struct{ Messages []struct{ Content any } }
	data, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(data, &req) != nil || len(req.Messages) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	prompt := fmt.Sprint(req.Messages[len(req.Messages)-1].Content)
	o.count(o.asked, prompt)
	if strings.HasPrefix(prompt, "hold") {
		select {
		case <-o.held:
		case <-r.Context().Done():
			return
		}
	}
	words := strings.Fields(prompt)
	w.Header().Set("Content-Type", "text/event-stream")
	const chunk = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":%s}]}` + "\n\n"
	fmt.Fprintf(w, chunk+chunk+"data: [DONE]\n\n", words[len(words)-1], "null", "", `"stop"`)
	o.count(o.answered, prompt)
}

func (o *oracle) count(in map[string]int, prompt string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	in[prompt]++
}

// timesAsked returns how often a prompt was received.
func (o *oracle) timesAsked(prompt string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked[prompt]
}

// Each tool writes its input to a file named after the tool; slow tools then wait for the file go.
const mortalWorkflows = `version: 1
providers: {demo: {type: openai, api: chat_completions, base_url: "%[1]s", api_key: "${VENDOR_KEY:-k}"}}
models: {m: {provider_id: demo, upstream_model: x}}
tools:
  act: {type: command, description: Acts., command: [tee, -a, "%[2]s/act"], effect: once, parameters: {type: object, properties: {mark: {type: string}}}}
  slow: {type: command, description: Acts slowly., command: [sh, -c, "tee -a %[2]s/slow; timeout 60 sh -c 'until [ -e %[2]s/go ]; do sleep 0.02; done'"], effect: once, parameters: {type: object, properties: {mark: {type: string}}}}
  deliver: {type: command, description: Delivers., command: [sh, -c, "tee -a %[2]s/deliver; timeout 60 sh -c 'until [ -e %[2]s/go ]; do sleep 0.02; done'"], effect: idempotent, parameters: {type: object, properties: {mark: {type: string}}}}
agents: {clerk: {model_id: m, allowed_tools: []}}
store: %[3]s
server:
  keys: [{id: desk, key: %[4]s, tenant: acme}]
workflows:
  approved:
    tenant: acme
    events: [{type: approved}]
    concurrency: {limit: 1}
    steps:
      - {id: judge, agent: {agent: clerk, prompt: "judge ${{ input.n }}"}}
      - {id: send, tool: {name: act, input: {mark: "${{ steps.judge.outputs.text }}"}, approval: true}}
  asked:
    tenant: acme
    events: [{type: asked}]
    steps:
      - {id: before, tool: {name: act, input: {mark: "${{ input.n }}"}}}
      - {id: ask, agent: {agent: clerk, prompt: "hold ${{ input.n }}"}}
  acting:
    tenant: acme
    events: [{type: acting}]
    steps:
      - {id: judge, agent: {agent: clerk, prompt: "judge ${{ input.n }}"}}
      - {id: act, tool: {name: slow, input: {mark: "${{ input.n }}"}}}
      - {id: after, tool: {name: act, input: {mark: "after ${{ input.n }}"}}}
  delivering:
    tenant: acme
    events: [{type: delivering}]
    target:
      agent: {agent: clerk, prompt: "judge ${{ input.n }}"}
      output_delivery: {tool: deliver, input_bindings: [{input_field: mark, value: {agent_output: text}}]}
  long:
    tenant: acme
    events: [{type: long}]
    steps:
      - {id: first, tool: {name: act, input: {mark: "${{ input.n }} first"}}}
      - {id: judge, inputs: {who: "${{ input.n }}"}, agent: {agent: clerk, prompt: {template: "judge ${{ inputs.who }} as yes"}}}
      - {id: never, when: {value: "${{ steps.judge.outputs.text }}", equals: "no"}, tool: {name: act, input: {mark: "${{ input.n }} never"}}}
      - {id: middle, when: {value: "${{ steps.judge.outputs.text }}", equals: "yes"}, tool: {name: act, input: {mark: "${{ input.n }} middle ${{ steps.judge.outputs.text }}"}}}
      - {id: write, agent: {agent: clerk, session_key: "${{ input.n }}", prompt: "write ${{ input.n }}"}}
      - {id: last, tool: {name: act, input: {mark: "${{ steps.write.outputs.text }} last"}}}
`

// mortalFlows is a program with workflows whose servers are killed.
type mortalFlows struct {
	*serverFleet
	*oracle
}

func newMortalFlows(t *testing.T, store string) *mortalFlows {
	t.Helper()
	f := &mortalFlows{&serverFleet{t: t, dir: t.TempDir()}, newOracle(t)}
	text := fmt.Sprintf(mortalWorkflows, f.URL, f.dir, store, rightKey)
	if err := os.WriteFile(filepath.Join(f.dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(store, "postgres") {
		f.command("migrate", "config.yaml")
	}
	return f
}

// at returns a client of a server.
func (f *mortalFlows) at(url string) *workflows.Client {
	f.t.Helper()
	client, err := native.NewClient(native.ClientSettings{URL: url, Key: rightKey})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(client.Close)
	return workflows.NewClient(client)
}

// publish publishes an event of a type with a subject.
func (f *mortalFlows) publish(c *workflows.Client, kind, about string) {
	f.t.Helper()
	data, err := json.Marshal(map[string]string{"n": about})
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := c.Publish(f.t.Context(), workflow.Event{Type: kind, ID: about, Data: data}); err != nil {
		f.t.Fatal(err)
	}
}

// await waits until a condition holds.
func (f *mortalFlows) await(what string, isSo func() bool) {
	f.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for late := time.After(90 * time.Second); !isSo(); {
		select {
		case <-again.C:
		case <-late:
			f.t.Fatalf("%s: it does not come to that", what)
		}
	}
}

// runs returns the runs of a workflow, the newest first.
func (f *mortalFlows) runs(c *workflows.Client, id string) []*workflows.RunView {
	f.t.Helper()
	list, err := c.ListRuns(f.t.Context(), workflow.RunQuery{WorkflowID: id, Limit: store.MaxPage})
	if err != nil {
		f.t.Fatal(err)
	}
	return list.Items
}

// awaitRun waits for the newest run of a workflow to have a status.
func (f *mortalFlows) awaitRun(c *workflows.Client, id string, status store.RunStatus) *workflows.RunView {
	f.t.Helper()
	f.await(id+" is "+string(status), func() bool {
		list := f.runs(c, id)
		return len(list) > 0 && list[0].Status == string(status)
	})
	r, err := c.GetRun(f.t.Context(), f.runs(c, id)[0].ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// marks returns how often a tool received each mark.
func (f *mortalFlows) marks(tool string) map[string]int {
	f.t.Helper()
	counts := make(map[string]int)
	file, err := os.Open(filepath.Join(f.dir, tool))
	if os.IsNotExist(err) {
		return counts
	}
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	for d := json.NewDecoder(file); ; {
		var one struct{ Mark string }
		if err := d.Decode(&one); err != nil {
			return counts
		}
		counts[one.Mark]++
	}
}

// approve approves a run's pending request.
func (f *mortalFlows) approve(c *workflows.Client, id string) {
	f.t.Helper()
	if _, err := c.AnswerInteraction(f.t.Context(), id, "approve_call", workflows.AnswerRequest{Result: json.RawMessage(`{"approved":true}`)}); err != nil {
		f.t.Fatal(err)
	}
}

// begin begins runs at each point and waits until they are there: a run that waits for a person,
// another queued after it, a run with a pending model call, a run in a tool that must not be
// repeated, and a run that delivers.
func (f *mortalFlows) begin(c *workflows.Client) {
	f.t.Helper()
	f.publish(c, "approved", "a1")
	f.awaitRun(c, "approved", store.RunWaiting)
	f.publish(c, "approved", "a2")
	for _, kind := range []string{"asked", "acting", "delivering"} {
		f.publish(c, kind, kind)
	}
	f.await("all have begun", func() bool {
		return f.timesAsked("hold asked") == 1 && f.marks("slow")["acting"] == 1 && f.marks("deliver")["delivering"] == 1
	})
	f.awaitRun(c, "approved", store.RunPending)
}

// finishWaiting lets waiting runs continue and checks their results.
func (f *mortalFlows) finishWaiting(c *workflows.Client) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600); err != nil {
		f.t.Fatal(err)
	}
	close(f.held)
	f.awaitRun(c, "asked", store.RunSucceeded)
	f.awaitRun(c, "delivering", store.RunSucceeded)
	if r := f.awaitRun(c, "acting", store.RunFailed); !strings.Contains(r.StatusMessage, "step act: ") || r.Steps[2].Status != "skipped" {
		f.t.Errorf("the run whose call is in doubt ends with %q and %+v", r.StatusMessage, r.Steps)
	}
	for range 2 { // the second starts after the first
		list := f.runs(c, "approved")
		for list[0].Status != string(store.RunWaiting) && list[1].Status != string(store.RunWaiting) {
			f.await("one waits", func() bool {
				list = f.runs(c, "approved")
				return list[0].Status == string(store.RunWaiting) || list[1].Status == string(store.RunWaiting)
			})
		}
		for _, r := range list {
			if r.Status == string(store.RunWaiting) {
				f.approve(c, r.ID)
				f.await("it is sent", func() bool {
					known, err := c.GetRun(f.t.Context(), r.ID)
					return err == nil && known.Status == string(store.RunSucceeded)
				})
			}
		}
	}
	for prompt, want := range map[string]int{"judge a1": 1, "judge a2": 1, "judge acting": 1, "judge delivering": 1, "hold asked": 2} {
		if got := f.timesAsked(prompt); got != want {
			f.t.Errorf("%q was asked %d times, want %d", prompt, got, want)
		}
	}
	if got := fmt.Sprint(f.marks("act"), f.marks("slow"), f.marks("deliver")); got != "map[a1:1 a2:1 asked:1] map[acting:1] map[delivering:2]" {
		f.t.Errorf("the tools were given %s", got)
	}
}

func TestRunsOfWorkflowsSurviveTheDeathOfTheirServer(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newMortalFlows(t, store(t))
			s := f.start("127.0.0.1:0")
			f.begin(f.at(s.url))
			s.kill()
			f.finishWaiting(f.at(f.start(s.address).url))
		})
	}
}

func TestAnotherReplicaGoesOnWithRunsOfWorkflows(t *testing.T) {
	t.Parallel()
	f := newMortalFlows(t, onPostgres(t))
	one := f.start("127.0.0.1:0")
	f.begin(f.at(one.url))
	two := f.start("127.0.0.1:0")
	one.kill()
	f.finishWaiting(f.at(two.url))
}

// stormKills is the number of server kills at random moments of runs.
const stormKills = 8

// TestRunsOfWorkflowsAreKilledAtAnyPoint kills servers while runs proceed from step to step,
// through conditions, templates, and calls of the model and of a tool that must not be repeated.
func TestRunsOfWorkflowsAreKilledAtAnyPoint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		store    func(*testing.T) string
		replicas int
	}{{"sqlite", onSQLite, 1}, {"postgres", onPostgres, 1}, {"two replicas", onPostgres, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newMortalFlows(t, strings.Replace(tt.store(t)+"\nturns: {strikes: 100}", "{lease: 1s}\nturns: {strikes: 100}", "{lease: 1s, strikes: 100}", 1))
			var servers []*victim
			for range tt.replicas {
				servers = append(servers, f.start("127.0.0.1:0"))
			}
			n := 0
			for kill := range stormKills {
				at := kill % tt.replicas
				c := f.at(servers[at].url)
				for range 5 {
					n++
					f.publish(c, "long", fmt.Sprintf("run-%d", n))
				}
				<-time.After(time.Duration(rand.IntN(250)) * time.Millisecond)
				servers[at].kill()
				servers[at] = f.start("127.0.0.1:0")
			}
			f.check(f.at(servers[0].url), n)
		})
	}
}

// check waits for all runs to end and verifies that each has done its work once.
func (f *mortalFlows) check(c *workflows.Client, n int) {
	f.t.Helper()
	var list []*workflows.RunView
	f.await("all runs end", func() bool {
		list = f.runs(c, "long")
		for _, r := range list {
			if store.RunStatus(r.Status).Live() {
				return false
			}
		}
		return len(list) == n
	})
	marks, failed := f.marks("act"), 0
	for mark, times := range marks {
		if times != 1 || strings.Contains(mark, "never") {
			f.t.Errorf("the tool was given %q %d times", mark, times)
		}
	}
	for _, r := range list {
		about := r.Trigger.Event.ID
		if r.Status != string(store.RunSucceeded) { // a call whose outcome is unknown
			failed++
			if !strings.Contains(r.StatusMessage, "may or may not have taken effect") {
				f.t.Errorf("%s ends with %s: %s", about, r.Status, r.StatusMessage)
			}
			continue
		}
		for _, step := range []string{" first", " middle yes", " last"} {
			if marks[about+step] != 1 {
				f.t.Errorf("%s succeeded, but the tool was given %q %d times", about, about+step, marks[about+step])
			}
		}
	}
	f.t.Logf("%d runs, of which %d ended in doubt", n, failed)
}
