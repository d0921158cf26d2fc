package cli

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// countingJudge is a model server for agents and judges that counts the judgments of each case.
type countingJudge struct {
	mu     sync.Mutex
	judged map[string]int
	// fifth is closed at the judgment of the fifth case.
	fifth chan struct{}
}

func (j *countingJudge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name := regexp.MustCompile(`number-\d+`).FindString(string(body))
	if !strings.Contains(string(body), "You grade the work") {
		streamsChat(w, string(body), "It is "+name)
		return
	}
	j.mu.Lock()
	j.judged[name]++
	if len(j.judged) == 5 && j.judged[name] == 1 {
		close(j.fifth)
	}
	j.mu.Unlock()
	streamsChat(w, string(body), `{"scores":[{"score":5,"comment":"right"}]}`)
}

// TestAKilledEvalPaysForNoJudgmentTwice kills eval in the middle of its cases and resumes it. Only
// the case running at the kill is judged again.
func TestAKilledEvalPaysForNoJudgmentTwice(t *testing.T) {
	judge := &countingJudge{judged: map[string]int{}, fifth: make(chan struct{})}
	models := httptest.NewServer(judge)
	t.Cleanup(models.Close)
	t.Setenv("JUDGE_KEY", "k")
	const cases = 12
	text := "version: 1\ncases:\n"
	for n := range cases {
		text += fmt.Sprintf("  c%d: {agent: a, turns: [{prompt: Say number-%d., expect: {judges: [{type: model, model_id: m, rubric: Is the number right?}]}}]}\n", n, n)
	}
	dir := filesIn(t, map[string]string{
		"config.yaml": "version: 1\nproviders: {p: {type: openai, api: chat_completions, base_url: " + models.URL + "/v1, api_key: \"${JUDGE_KEY}\"}}\n" +
			"models: {m: {provider_id: p, upstream_model: gpt}}\nagents: {a: {model_id: m, description: Counts.}}\n",
		"cases.yaml": text,
	})
	evaluate := func(more ...string) *exec.Cmd {
		cmd := exec.Command("runtime", append([]string{"eval", "config.yaml", "cases.yaml", "--live", "--parallel", "1", "--results", "results.jsonl"}, more...)...)
		cmd.Dir, cmd.Env = dir, os.Environ()
		return cmd
	}
	killed := evaluate()
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-judge.fifth:
	case <-time.After(time.Minute):
		t.Error("the fifth case is not judged")
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if out, err := evaluate("--resume").CombinedOutput(); err != nil || !strings.Contains(string(out), "12 runs passed") {
		t.Fatalf("%v\n%s", err, out)
	}
	judge.mu.Lock()
	defer judge.mu.Unlock()
	if len(judge.judged) != cases {
		t.Errorf("%d cases are judged", len(judge.judged))
	}
	again := 0
	for _, name := range slices.Sorted(maps.Keys(judge.judged)) {
		again += judge.judged[name] - 1
	}
	if again > 1 {
		t.Errorf("%d judgments are repeated: %v", again, judge.judged)
	}
}
