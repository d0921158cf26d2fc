package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
)

const (
	// between separates the texts of two artifacts.
	between = "\n\n"
	// Overhead is the size in bytes that each artifact or part counts beyond its content, so that
	// the number of empty ones is limited too.
	Overhead = 256
	// maxDelta is the maximum text size of one event, in bytes.
	maxDelta = 32 << 10
)

// outputError reports that a turn's output exceeds the limit.
type outputError struct{ limit int }

func (e *outputError) Error() string {
	return fmt.Sprintf("the peer sent more than max_output_bytes, %d", e.limit)
}

// assembly assembles a task's artifacts from their parts, and tracks the text that was shown.
type assembly struct {
	// limit is the maximum and size the current total size, in bytes. spent counts text that was
	// shown but is not kept.
	limit, size, spent int
	artifacts          []*artifact
	byID               map[a2a.ArtifactID]*artifact
	// last is the last artifact with text. Text added to another one is not at the end of the
	// output.
	last *artifact
	// stale is set if the text no longer begins with the shown text. It is then shown again once
	// complete.
	stale bool
	shown shown
	// show shows text, and reset withdraws the text shown in this step; nil if nobody is
	// watching.
	show  func(text string)
	reset func()
}

// artifact is one artifact of a task.
type artifact struct {
	text  strings.Builder
	files []model.Part
	// size is the counted size, and least the size counted when empty.
	size, least int
}

// updateArtifact applies an artifact, or a part of one.
func (a *assembly) updateArtifact(id a2a.ArtifactID, parts []*a2a.Part, more bool) error {
	at, ok := a.byID[id]
	if !ok {
		at = a.addArtifact(id)
	}
	text := a2awire.Text(parts)
	if ok && !more {
		return a.replaceContent(at, text, parts)
	}
	return a.extendArtifact(at, text, parts)
}

// addArtifact appends an empty artifact.
func (a *assembly) addArtifact(id a2a.ArtifactID) *artifact {
	at := &artifact{least: Overhead + len(id)}
	at.size = at.least
	if a.byID == nil {
		a.byID = make(map[a2a.ArtifactID]*artifact)
	}
	a.byID[id] = at
	a.artifacts = append(a.artifacts, at)
	a.size += at.size
	return at
}

// extendArtifact adds to an artifact, and shows the text immediately if it is at the end.
func (a *assembly) extendArtifact(at *artifact, text string, parts []*a2a.Part) error {
	if err := a.countGrowth(at, len(text)); err != nil {
		return err
	}
	if err := a.addFiles(at, parts); err != nil || text == "" {
		return err
	}
	lead := ""
	if at.text.Len() == 0 && a.last != nil {
		lead = between
	}
	if at.text.Len() > 0 && at != a.last || at.text.Len() == 0 && a.hasTextAfter(at) {
		a.stale = true
	} else {
		a.last = at
	}
	at.text.WriteString(text)
	if !a.stale {
		a.showText(lead + text)
	}
	return nil
}

// hasTextAfter reports whether an artifact after at has text.
func (a *assembly) hasTextAfter(at *artifact) bool {
	for i := len(a.artifacts) - 1; i >= 0 && a.artifacts[i] != at; i-- {
		if a.artifacts[i].text.Len() > 0 {
			return true
		}
	}
	return false
}

// replaceContent replaces an artifact's content. Content with the earlier content as its prefix
// extends it.
func (a *assembly) replaceContent(at *artifact, text string, parts []*a2a.Part) error {
	old := at.text.String()
	a.size -= at.size - at.least
	at.size, at.files = at.least, nil
	if rest, longer := strings.CutPrefix(text, old); longer {
		if err := a.countGrowth(at, len(old)); err != nil {
			return err
		}
		return a.extendArtifact(at, rest, parts)
	}
	at.text.Reset()
	a.stale = true
	if err := a.countGrowth(at, len(text)); err != nil {
		return err
	}
	at.text.WriteString(text)
	return a.addFiles(at, parts)
}

// addFiles adds the parts that are not text. Unusable parts are skipped.
func (a *assembly) addFiles(at *artifact, parts []*a2a.Part) error {
	for i, p := range parts {
		if p == nil || !isFile(p) {
			continue
		}
		file, err := a2awire.ModelParts(parts[i:i+1], 0)
		if err != nil || len(file) == 0 {
			continue
		}
		if err := a.countGrowth(at, Overhead+a2awire.Size(p)); err != nil {
			return err
		}
		at.files = append(at.files, file[0])
	}
	return nil
}

func isFile(p *a2a.Part) bool {
	switch p.Content.(type) {
	case a2a.Raw, a2a.URL:
		return true
	default:
		return false
	}
}

// countGrowth counts data about to be kept for an artifact.
func (a *assembly) countGrowth(at *artifact, n int) error {
	at.size += n
	a.size += n
	return a.checkBounds()
}

// countShown counts text that is shown without being kept.
func (a *assembly) countShown(n int) error {
	a.spent += n
	return a.checkBounds()
}

func (a *assembly) checkBounds() error {
	if a.size > a.limit || a.spent > a.limit {
		return &outputError{a.limit}
	}
	return nil
}

// rebuildFrom replaces everything by the artifacts of a task, and shows the new parts.
func (a *assembly) rebuildFrom(artifacts []*a2a.Artifact) error {
	a.artifacts, a.byID, a.last, a.size = nil, nil, nil, 0
	a.stale = true // nothing is shown until complete
	for _, from := range artifacts {
		if from == nil {
			continue
		}
		if err := a.updateArtifact(from.ID, from.Parts, false); err != nil {
			return err
		}
	}
	if text := a.joinedText(); a.shown.isPrefixOf(text) {
		a.stale = false
		a.shown.seed(text)
		for _, at := range a.artifacts {
			if at.text.Len() > 0 {
				a.last = at
			}
		}
		a.showText(text[a.shown.bytes:])
	}
	return nil
}

// showRest shows the rest of a complete answer, and withdraws shown text that differs from it.
func (a *assembly) showRest(text string) {
	if !a.shown.isPrefixOf(text) {
		if a.shown.step > 0 && a.reset != nil {
			a.reset()
		}
		if a.shown = shownBefore(a.shown.before); !a.shown.isPrefixOf(text) {
			a.shown = shown{}
		}
	}
	a.stale = false
	a.shown.seed(text)
	a.showText(text[a.shown.bytes:])
}

// showText shows text that continues the shown text, in pieces.
func (a *assembly) showText(text string) {
	for len(text) > 0 {
		piece := clip.Head(text, maxDelta)
		a.shown.add(piece)
		if a.show != nil {
			a.show(piece)
		}
		text = text[len(piece):]
	}
}

// joinedText returns the text of all artifacts.
func (a *assembly) joinedText() string {
	var b strings.Builder
	for _, at := range a.artifacts {
		if at.text.Len() == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(between)
		}
		b.WriteString(at.text.String())
	}
	return b.String()
}

// fileParts returns the images and files of all artifacts.
func (a *assembly) fileParts() []model.Part {
	var files []model.Part
	for _, at := range a.artifacts {
		files = append(files, at.files...)
	}
	return files
}

// mark identifies shown text: the text may be long, and is only compared.
type mark struct {
	Bytes int    `json:"bytes,omitempty"`
	Sum   string `json:"sum,omitempty"`
}

// shown is the text that was shown.
type shown struct {
	// before is the text shown by earlier steps: all of it while hash is nil.
	before mark
	bytes  int
	hash   hash.Hash
	// step counts the text shown by this step.
	step int
}

// shownBefore returns the text shown by a turn's earlier steps.
func shownBefore(before mark) shown { return shown{before: before, bytes: before.Bytes} }

// seed initializes the hash with the shown text, which is a prefix of text.
func (s *shown) seed(text string) {
	if s.hash == nil {
		s.hash = sha256.New()
		s.hash.Write([]byte(text[:s.bytes]))
	}
}

func (s *shown) add(text string) {
	s.seed("")
	s.hash.Write([]byte(text))
	s.bytes += len(text)
	s.step += len(text)
}

// isPrefixOf reports whether a text begins with the shown text.
func (s *shown) isPrefixOf(text string) bool {
	if s.bytes < 0 || len(text) < s.bytes {
		return false
	}
	prefix := shown{}
	prefix.add(text[:s.bytes])
	return s.mark() == prefix.mark()
}

func (s *shown) mark() mark {
	switch {
	case s.bytes == 0:
		return mark{}
	case s.hash == nil:
		return s.before
	default:
		return mark{s.bytes, hex.EncodeToString(s.hash.Sum(nil))}
	}
}
