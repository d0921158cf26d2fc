package scripted

import (
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// chooseReply returns the reply to a request; nil for the echo.
func (e *Executor) chooseReply(req *model.Request) *reply {
	p := e.program
	if len(p.replies) == 0 {
		return p.fallback
	}
	start, lost := p.locateRun(req)
	run := req.Messages[start:]
	if p.linear {
		if n := countAnswers(run) + lost; n < len(p.replies) {
			return &p.replies[n]
		}
		return p.fallback
	}
	var room [256]bool
	s := selection{program: p, used: append(room[:0], make([]bool, len(p.replies))...)}
	s.skipLost(lost)
	for i := range run {
		switch run[i].Role {
		case model.RoleUser, model.RoleTool:
			s.noteText(&run[i])
		case model.RoleAssistant:
			s.passAnswer(&run[i])
		}
	}
	if !p.forgetful {
		return s.nextReply(0, 0)
	}
	return e.nextForgetful(req, &s)
}

// nextForgetful chooses from a script whose replies may leave no trace in a conversation. The
// result depends on how many such replies were given so far.
func (e *Executor) nextForgetful(req *model.Request, s *selection) *reply {
	f := &e.failures
	asked, place := f.requestKey(req, s.text), f.placeKey(req)
	f.mu.Lock()
	defer f.mu.Unlock()
	failed, _ := f.count.Get(asked)
	silent, _ := f.count.Get(place)
	r := s.nextReply(failed, silent)
	switch answers := r == nil || r == e.program.fallback; {
	case !answers && r.breaksOff():
		f.count.Put(asked, failed+1)
	case !answers && r.isSilent():
		f.count.Put(place, silent+1)
	case failed > 0 || silent > 0:
		f.count.Put(asked, 0)
		f.count.Put(place, 0)
	}
	return r
}

func countAnswers(run []model.Message) int {
	n := 0
	for i := range run {
		if run[i].Role == model.RoleAssistant {
			n++
		}
	}
	return n
}

// locateRun returns the start of the request's run, and how many of its answers are missing from
// the request: a long conversation loses its older messages. The ids of a turn's messages begin
// with the turn's id and end with the step; a message added in the middle of a turn has no such id
// and does not begin another run. Without such ids, the run begins at the last user message.
func (p *program) locateRun(req *model.Request) (start, lost int) {
	first, last, present := -1, 0, 0
	for i := range req.Messages {
		m := &req.Messages[i]
		step, ok := stepOf(m.ID, req.TurnID)
		if !ok {
			continue
		}
		if first < 0 {
			first = i
		}
		if last = max(last, step); m.Role == model.RoleAssistant {
			present++
		}
	}
	if first < 0 {
		return p.runStart(req.Messages), 0
	}
	// The message before the first answer belongs to the run.
	start = first
	for start > 0 && req.Messages[start-1].Role == model.RoleSystem {
		start--
	}
	if start > 0 && req.Messages[start-1].Role == model.RoleUser {
		start--
	}
	return start, max(last-present, 0)
}

// stepOf returns the step that added the message with an id: answers have ids <turn>/m<step>,
// results <turn>/t<step>.
func stepOf(id, turn string) (step int, ok bool) {
	turn, _, _ = strings.Cut(turn, "@") // message ids have no owner mark
	rest, ok := strings.CutPrefix(id, turn)
	if turn == "" || !ok || len(rest) < len("/m1") || rest[0] != '/' || rest[1] != 'm' && rest[1] != 't' {
		return 0, false
	}
	step, err := strconv.Atoi(rest[len("/m"):])
	return step, err == nil
}

// runStart returns the start of the latest run: the last user message that does not ask to continue
// an interrupted answer. System messages and other user messages right before it may belong to the
// run.
func (p *program) runStart(messages []model.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != model.RoleUser {
			continue
		}
		before := i - 1
		for before >= 0 && (messages[before].Role == model.RoleUser || messages[before].Role == model.RoleSystem) {
			before--
		}
		if before < 0 || !p.cutOff(&messages[before]) {
			return i
		}
		i = before
	}
	return 0
}

// cutOff reports whether a message contains only the text of incomplete replies.
func (p *program) cutOff(m *model.Message) bool {
	if len(p.open) == 0 || m.Role != model.RoleAssistant || m.HasToolCalls() {
		return false
	}
	rest := m.Text()
	for first := true; first || rest != ""; first = false {
		piece, ok := p.openPrefix(rest)
		if !ok {
			return false
		}
		rest = rest[len(piece):]
	}
	return true
}

// openPrefix returns the longest text of an incomplete reply that is a prefix of text.
func (p *program) openPrefix(text string) (longest string, ok bool) {
	for _, piece := range p.open {
		if strings.HasPrefix(text, piece) && len(piece) >= len(longest) {
			longest, ok = piece, true
		}
	}
	// An empty piece matches only an empty text.
	return longest, ok && (longest != "" || text == "")
}

// selection walks a run and finds the replies that it used.
type selection struct {
	program *program
	// used marks the used replies.
	used []bool
	// text is the text of the last user or tool message.
	text string
	// spent counts how often the reply with the number failing has failed and left partial text in
	// the conversation.
	failing, spent int
}

func (s *selection) noteText(m *model.Message) {
	if m.Role == model.RoleTool {
		s.text = resultsText(m.Parts)
	} else {
		s.text = m.Text()
	}
}

// passAnswer marks the reply that produced an answer as used, and also earlier failures. An answer
// joined from several replies, because a truncated part was continued, uses all of them.
func (s *selection) passAnswer(m *model.Message) {
	rest, calls := "", m.HasToolCalls()
	if len(s.program.open) > 0 {
		rest = m.Text()
	}
	for i := range s.program.replies {
		r := &s.program.replies[i]
		if !s.replyFits(i) {
			continue
		}
		found := false
		if r.breaksOff() {
			if r.keptIn(m) {
				s.used[i] = true
				return
			}
			rest, found = s.failedIn(i, rest)
		} else {
			s.used[i] = true
			if rest, found = strings.CutPrefix(rest, r.text); !r.open || !found {
				return
			}
		}
		if found && rest == "" && !calls {
			return
		}
		s.used[i] = true
	}
}

// failedIn removes a failing reply's partial texts from the beginning of an answer, and reports
// whether there are any.
func (s *selection) failedIn(i int, rest string) (tail string, found bool) {
	r := &s.program.replies[i]
	if s.failing != i {
		s.failing, s.spent = i, 0
	}
	for r.open && s.spent < r.times && strings.HasPrefix(rest, r.text) {
		s.spent++
		rest, found = rest[len(r.text):], true
	}
	return rest, found
}

// skipLost marks the replies of answers missing from the request as used. Whether a reply with a
// match was among them is unknown; it counts as unused.
func (s *selection) skipLost(lost int) {
	for i := 0; i < len(s.program.replies) && lost > 0; i++ {
		r := &s.program.replies[i]
		if r.match != (matcher{}) {
			continue
		}
		s.used[i] = true
		if !r.breaksOff() && !r.open {
			lost--
		}
	}
}

// nextReply returns the reply to the request itself, given how often it has failed and how many
// replies without a trace were given at its place in the conversation.
func (s *selection) nextReply(failed, silent int) *reply {
	for i := range s.program.replies {
		r := &s.program.replies[i]
		if !s.replyFits(i) {
			continue
		}
		if r.isSilent() && silent > 0 {
			silent--
			continue
		}
		if !r.breaksOff() {
			return r
		}
		left := r.times
		if s.failing == i {
			left -= s.spent
		}
		if failed < left {
			return r
		}
		failed -= left
	}
	return s.program.fallback
}

func (s *selection) replyFits(i int) bool {
	return !s.used[i] && s.program.replies[i].match.matchesText(s.text)
}

// resultsText returns the joined text of tool results.
func resultsText(parts []model.Part) string {
	first := ""
	for i := range parts {
		text := parts[i].Text
		if parts[i].ToolResult != nil {
			text = model.PartsText(parts[i].ToolResult.Content)
		}
		switch {
		case text == "":
		case first == "":
			first = text
		default:
			first += "\n" + text
		}
	}
	return first
}
