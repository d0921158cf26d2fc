package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	testneeds "github.com/agentruntime/agentruntime/internal/testkit/needs"
)

const chatConfig = `version: 1
store: {driver: sqlite, dsn: ./runtime.db}
providers: {demo: {type: scripted, script: ./replies.yaml}}
models: {m: {provider_id: demo, upstream_model: x}}
tools:
  pay: {type: command, description: Pays a bill., command: [cat]}
  pin: {type: ask, description: Asks for a code., question: Which code?, schema: {type: string, format: password, minLength: 1}}
agents:
  clerk:
    model_id: m
    plugin_ids: [permission]
    sections: {permission: {default_behavior: allow, rules: [{tool: pay, behavior: ask}]}}
  boss: {model_id: m, delegates: [clerk]}
`

const chatReplies = `replies:
  - match: Pay
    tool_calls: [{id: call_1, name: pay, arguments: {amount: 12, account: desk}}]
  - match: secret
    tool_calls: [{id: call_2, name: pin, arguments: {}}]
  - {match: delegate, tool_calls: [{id: call_3, name: agent_run_clerk, arguments: {prompt: A heading}}]}
  - {match: slow, text: It is done., delay: 30s}
  - {match: heading, text: "# Head\n\nSome **bold** and a_b_c.\n\n- one\n- two"}
  - {match: story, text: %q}
fallback: {text: It is paid.}
`

// terminalScreen is a terminal with a command in it, in its own tmux server.
type terminalScreen struct {
	t      *testing.T
	socket string
}

// openTerminal runs a command line in a terminal, in a directory with a configuration.
func openTerminal(t *testing.T, size, command string, env ...string) *terminalScreen {
	t.Helper()
	dir := t.TempDir()
	var story strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&story, "line %d\n", i+1)
	}
	for name, text := range map[string]string{"config.yaml": chatConfig, "replies.yaml": fmt.Sprintf(chatReplies, story.String())} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &terminalScreen{t: t, socket: filepath.Join(dir, "tmux")}
	width, height, _ := strings.Cut(size, "x")
	args := []string{"-f", os.DevNull, "new-session", "-d", "-x", width, "-y", height, "-c", dir}
	for _, e := range append(env, "PATH="+os.Getenv("PATH")) {
		args = append(args, "-e", e)
	}
	s.tmux(append(args, command+"; echo ended with $?; exec cat")...)
	t.Cleanup(func() { s.tmux("kill-server") })
	return s
}

// tmux runs a tmux command and returns its output.
func (s *terminalScreen) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// press sends keys; text is typed literally.
func (s *terminalScreen) press(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, keys...)...)
}

// expect waits until the screen contains all the texts and returns the screen.
func (s *terminalScreen) expect(texts ...string) string {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		shown, missing := s.tmux("capture-pane", "-p"), ""
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				missing = text
			}
		}
		if missing == "" {
			return shown
		}
		if time.Now().After(end) {
			s.t.Fatalf("the screen has no %q:\n%s", missing, shown)
		}
	}
}

func needTmux(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		testneeds.Missing(t, errors.New("no tmux: it is not in PATH"))
	}
}

func TestAConversationOnATerminal(t *testing.T) {
	t.Parallel()
	needTmux(t)
	s := openTerminal(t, "80x24", "runtime chat config.yaml clerk")
	s.expect("ready", "clerk")

	// Typing, with an edit in the middle and a second line, and Markdown.
	s.press("A hading", "Left", "Left", "Left", "Left", "Left", "e", "End", "C-j", "please", "Enter")
	s.expect("› A heading\n  please", "# Head", "Some bold and a_b_c.", "• one\n• two", "ready · 1 step")

	// A call that needs approval, folded and unfolded.
	s.press("Pay it", "Enter")
	s.expect("? Agent clerk wants to call tool pay", "your answer?", `● Running pay {"`)
	s.press("y", "Enter")
	s.expect("It is paid.", "ready · 3 steps", "● Ran pay {")
	s.press("C-o")
	s.expect("● Ran pay\n  {")
	s.press("C-o")

	// A prompt queued behind a turn that is canceled.
	s.press("slow work", "Enter")
	s.expect("working")
	s.press("and then", "Enter")
	s.expect("1 queued")
	s.press("C-c")
	s.expect("turn canceled (operator interrupted)", "› and then", "ready · 4 steps")

	// The commands.
	s.press("/help", "Enter")
	s.expect("/session  shows the session", "Ctrl-O")

	// A long answer, scrolling back in it, and a resized window.
	s.press("a story", "Enter")
	s.expect("line 10000\n", "ready")
	s.press("PPage")
	s.expect("line 9980\n", "scrolled")
	s.tmux("resize-window", "-x", "20", "-y", "8")
	s.expect("ready · scrolled, P…")
	s.press("C-l", "x", "BSpace", "Up", "Enter")
	s.expect("line 10000\n")

	// The end.
	s.press("C-d")
	shown := s.expect("Resume with: runtime", "ended with 0")
	if strings.Contains(shown, "line 10000") {
		t.Errorf("the screen was not given back:\n%s", shown)
	}
}

// TestADelegateOnATerminal shows a delegate as one line, and its actions with --delegates.
func TestADelegateOnATerminal(t *testing.T) {
	t.Parallel()
	needTmux(t)
	s := openTerminal(t, "80x24", "runtime chat config.yaml boss")
	s.expect("ready", "boss")
	s.press("delegate it", "Enter")
	folded := s.expect("delegate: clerk succeeded, 0 tool calls", "It is paid.", "ready")
	if strings.Contains(folded, "Some bold and") {
		t.Errorf("the delegate's text is shown:\n%s", folded)
	}
	s.press("C-d")
	s.expect("ended with 0")

	s = openTerminal(t, "80x24", "runtime chat config.yaml boss --delegates")
	s.expect("ready", "boss")
	s.press("delegate it", "Enter")
	s.expect("[clerk]", "Some bold and", "It is paid.", "ready")
}

// TestTheScreenGrowsWithItsTerminal: the screen regains all rows after it was small.
func TestTheScreenGrowsWithItsTerminal(t *testing.T) {
	t.Parallel()
	needTmux(t)
	s := openTerminal(t, "80x24", "runtime chat config.yaml clerk")
	s.expect("ready", "clerk")
	s.press("a story", "Enter")
	s.expect("line 9985\n", "line 10000\n", "ready")
	for _, size := range [][2]string{{"20", "8"}, {"80", "24"}, {"40", "12"}, {"100", "30"}} {
		s.tmux("resize-window", "-x", size[0], "-y", size[1])
		if size[1] == "8" {
			s.expect("line 10000\n")
			continue
		}
		rows, err := strconv.Atoi(size[1])
		if err != nil {
			t.Fatal(err)
		}
		shown := s.expect("line 10000\n", fmt.Sprintf("line %d\n", 10_000-rows+8), "ready")
		if lines := strings.Split(strings.TrimRight(shown, "\n"), "\n"); len(lines) != rows && len(lines) != rows-1 {
			t.Errorf("%d of %d rows are used:\n%s", len(lines), rows, shown)
		}
	}
	// Scrolled back, the screen also has all rows.
	s.press("PPage")
	s.expect("scrolled")
	s.tmux("resize-window", "-x", "20", "-y", "8")
	s.expect("scrolled, P…")
	s.press("NPage", "PPage")
	s.tmux("resize-window", "-x", "80", "-y", "24")
	shown := s.expect("ready · scrolled, PgDn")
	if n := strings.Count(shown, "line 9"); n != 22 {
		t.Errorf("%d of 22 rows have lines of the answer:\n%s", n, shown)
	}
	s.press("C-d")
	s.expect("ended with 0")
}

func TestAConversationGoesOnOnATerminal(t *testing.T) {
	t.Parallel()
	needTmux(t)
	s := openTerminal(t, "80x24", "echo Pay it | runtime chat config.yaml clerk 2>/dev/null; runtime chat config.yaml clerk --resume", "NO_COLOR=1")
	s.expect("ready")
	s.press("C-d")
	s.expect("Resume with", "ended with 0")

	s = openTerminal(t, "80x24", "runtime run config.yaml clerk", "NO_COLOR=1")
	s.expect("ready")
	s.press("Pay it", "Enter")
	s.expect("your answer?")
	if colored := s.tmux("capture-pane", "-p", "-e"); strings.Contains(colored, "\x1b[3") && strings.Contains(colored, "\x1b[33m") {
		t.Errorf("NO_COLOR is set, and the screen has colors:\n%q", colored)
	}
	s.press("no", "Enter")
	s.expect("It is paid.", "ready")
	s.press("C-c")
	s.expect("ended with 0")
}

func TestASecretAnswerIsNotShown(t *testing.T) {
	t.Parallel()
	needTmux(t)
	for command, ready := range map[string]string{"runtime chat config.yaml clerk": "ready", "runtime chat --plain config.yaml clerk": "you>"} {
		s := openTerminal(t, "80x24", command, "NO_COLOR=1")
		s.expect(ready)
		s.press("The secret", "Enter")
		s.expect("Which code?", "which is not shown")
		s.press("Enter")
		s.expect("an answer is required")
		s.press("hunter2", "Enter")
		shown := s.expect("Ran pin")
		if strings.Contains(strings.Split(shown, "Ran pin")[0], "hunter2") {
			t.Errorf("%s shows the answer:\n%s", command, shown)
		}
	}
}

// TestAConversationBeginsWithAMessage has continued lines, and a wheel that scrolls where possible.
func TestAConversationBeginsWithAMessage(t *testing.T) {
	t.Parallel()
	needTmux(t)
	s := openTerminal(t, "60x12", "runtime chat config.yaml clerk --system 'Be brief.' --message 'Tell a story' --mouse")
	s.expect("ready", "line 10000")
	if got := strings.TrimSpace(s.tmux("display-message", "-p", "#{mouse_any_flag}")); got != "1" {
		t.Errorf("with --mouse the mouse is captured: %s", got)
	}
	s.press("-l", "\x1b[<64;5;5M\x1b[<64;5;5M")
	s.expect("scrolled, PgDn", "line 9994\n")
	s.press("-l", "\x1b[<65;5;5M\x1b[<65;5;5M")
	s.expect("ready · 1 step", "line 10000")
	s.press(`A heading\`, "Enter")
	s.expect("› A heading\n\n", "ready")
	s.press("please", "Enter")
	s.expect("› A heading\n  please", "# Head")
	s.press(`Pay it`, "Enter")
	s.expect("your answer?")
	s.press(`no\`, "Enter") // which is a literal answer
	s.expect("ready · 4 steps")

	plain := openTerminal(t, "60x12", "runtime chat config.yaml clerk")
	plain.expect("ready")
	if got := strings.TrimSpace(plain.tmux("display-message", "-p", "#{mouse_any_flag} #{mouse_button_flag}")); got != "0 0" {
		t.Errorf("the mouse is captured: %s", got)
	}
}

// TestAQuestionIsSeenWhereTextWasHidden asks on a terminal whose text another program left
// concealed.
func TestAQuestionIsSeenWhereTextWasHidden(t *testing.T) {
	t.Parallel()
	needTmux(t)
	s := openTerminal(t, "120x30", `printf '\033[8mconcealed'; runtime run config.yaml clerk Pay`)
	s.expect("[y] once")
	before, _, _ := strings.Cut(s.tmux("capture-pane", "-p", "-e"), "? Agent clerk")
	if at := strings.LastIndex(before, "\x1b[8m"); at < 0 || !strings.Contains(before[at:], "\x1b[0m") {
		t.Errorf("the question is concealed, after %q", before)
	}
	s.press("y", "Enter")
	s.expect("It is paid.", "ended with 0")
}

// TestAnInterruptAtAQuestionEndsTheRun presses Ctrl-C once at an unanswered question.
func TestAnInterruptAtAQuestionEndsTheRun(t *testing.T) {
	t.Parallel()
	needTmux(t)
	for _, quiet := range []string{"", " --quiet"} {
		s := openTerminal(t, "120x30", "trap : INT; before=$(stty -g); runtime run config.yaml clerk Pay"+quiet+`; echo ended with $?; [ "$before" = "$(stty -g)" ] && echo restored`)
		s.expect("[y] once")
		s.press("C-c")
		shown := s.expect("ended with 130", "restored", "runtime: canceled")
		for line := range strings.Lines(shown) {
			if _, after, asked := strings.Cut(line, "anything else refuses:"); asked && strings.TrimSpace(strings.ReplaceAll(after, "^C", "")) != "" {
				t.Errorf("the prompt's line has %q:\n%s", after, shown)
			}
		}
	}
}
