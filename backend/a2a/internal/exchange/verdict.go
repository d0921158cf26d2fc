package exchange

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/model"
)

// CanceledError reports a task that the peer canceled.
type CanceledError struct{ said string }

func (e *CanceledError) Error() string {
	if e.said == "" {
		return "the peer canceled the task"
	}
	return "the peer canceled the task: " + e.said
}

// Verdict returns why a settled exchange has no answer; nil if it has one, or if the peer asks a
// question. A task canceled by the peer is a *canceledError.
func (x *Exchange) Verdict() error {
	said := messageText(x.status.Message)
	switch {
	case x.phase == phaseAsking, x.phase == phaseReplied, x.at.State == a2a.TaskStateCompleted:
		return nil
	case x.at.State == a2a.TaskStateCanceled:
		return &CanceledError{said: x.peer.Shown(said, client.MaxShown)}
	case x.at.State == a2a.TaskStateRejected:
		return x.Fail(client.CodeRemoteRejected, said, nil)
	default:
		return x.Fail(client.CodeRemoteFailed, said, nil)
	}
}

// Answer returns the peer's answer: the text of its artifacts, or else the agent's last words.
func (x *Exchange) Answer() (string, error) {
	text := x.output.joinedText()
	if text == "" && (x.phase == phaseReplied || x.at.State == a2a.TaskStateCompleted) {
		text = cmp.Or(messageText(x.status.Message), x.lastWords)
	}
	if limit := x.peer.Options.MaxOutputBytes; len(text) > limit {
		return "", x.limitError(&outputError{limit})
	}
	return text, nil
}

// Text returns the text of the artifacts received so far.
func (x *Exchange) Text() string { return x.output.joinedText() }

// Files returns the images and files of the artifacts.
func (x *Exchange) Files() []model.Part { return x.output.fileParts() }

// ShowAnswer shows the rest of a complete answer, and withdraws shown text that differs from it.
func (x *Exchange) ShowAnswer(text string) { x.output.showRest(text) }

// Question returns the peer's question and the data sent with it; nil for none.
func (x *Exchange) Question() (text string, data any) {
	if x.status.Message == nil {
		return "", nil
	}
	return a2awire.Question(x.status.Message.Parts)
}

// NoteQuestion notes which question the next message answers.
func (x *Exchange) NoteQuestion() { x.at.Asked = questionFingerprint(&x.status) }

// NoteFiles returns an answer's text about the files sent with it. keep stores each file sent
// with its data and returns its id.
func NoteFiles(text string, files []model.Part, keep func(number int, name, media string, data []byte) (id string, err error)) string {
	var notes strings.Builder
	for i := range files {
		if text != "" || i > 0 {
			notes.WriteByte('\n')
		}
		notes.WriteString(noteFile(i+1, files[i].Blob, keep))
	}
	return notes.String()
}

func noteFile(number int, blob *model.Blob, keep func(number int, name, media string, data []byte) (id string, err error)) string {
	name := client.CleanText(path.Base(strings.ReplaceAll(blob.Name, "\\", "/")), 200)
	if blob.Name == "" {
		name = "file"
	}
	media := client.CleanText(blob.MediaType, 100)
	if blob.URI != "" {
		return fmt.Sprintf("[%s (%s) is at %s]", name, media, client.CleanText(blob.URI, 2000))
	}
	id, err := keep(number, name, media, blob.Data)
	if err != nil {
		return fmt.Sprintf("[%s (%s, %d bytes) is lost: %v]", name, media, len(blob.Data), err)
	}
	return fmt.Sprintf("[%s (%s, %d bytes) is kept as artifact %s]", name, media, len(blob.Data), id)
}
