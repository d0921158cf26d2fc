package a2a

import (
	"errors"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
)

// finishStep ends the step of a settled exchange and returns the turn's termination.
func (t *turn) finishStep() (event.Termination, error) {
	x := t.exchange
	if x.Asks() {
		x.ShowAnswer(x.Text())
		t.course.Left, t.course.Deadline = max(time.Until(t.course.Deadline), time.Second), time.Time{}
		t.endStep()
		t.askQuestion()
		return event.Termination{Type: event.Suspended}, nil
	}
	text, err := x.Answer()
	if err != nil {
		return event.Termination{}, err
	}
	t.response = text + t.keepFiles(text)
	x.ShowAnswer(t.response)
	t.endStep()
	err = x.Verdict()
	if canceled, ok := errors.AsType[*exchange.CanceledError](err); ok {
		return event.Termination{Type: event.Canceled, Detail: canceled.Error()}, nil
	}
	if err != nil {
		return event.Termination{}, err
	}
	return event.Termination{Type: event.NaturalEnd}, nil
}

// keepFiles stores the task's images and files as session artifacts and returns the answer's text
// about them.
func (t *turn) keepFiles(text string) string {
	notes := exchange.NoteFiles(text, t.exchange.Files(), t.keepFile)
	if notes != "" {
		t.host.FlushSession()
	}
	return notes
}

// keepFile stores one file under a name unique to the turn: a peer must not be able to replace
// other turns' files.
func (t *turn) keepFile(number int, name, media string, data []byte) (string, error) {
	id := t.job.TurnID + "/m" + strconv.Itoa(t.course.Step) + "/f" + strconv.Itoa(number)
	_, err := t.host.Session().KeepArtifact(tools.Artifact{ID: id, Name: id + "/" + name, MediaType: media, Data: data})
	return id, err
}
