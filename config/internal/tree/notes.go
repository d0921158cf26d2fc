package tree

import "github.com/agentruntime/agentruntime/internal/yamltree"

// Notes is what decoding recorded about the files' texts, for the document.
type Notes struct {
	// Texts are the notes by text.
	Texts map[*yamltree.Node]*Note
	// dirs are the base directories of nodes' paths, if their files do not determine them.
	dirs map[*yamltree.Node]string
}

// Note is what decoding recorded about one text.
type Note struct {
	// IsPath is set for file paths, and IsSecret for texts that may contain secrets.
	IsPath, IsSecret bool
	// Prompt is the content of the prompt file that the text names, as a configuration text.
	Prompt *string
	// Plain is the path of a literal secret, PlainURL the path of a URL with secrets, and Masked the
	// path of a text that is stored but not shown. They are empty for other texts.
	Plain, PlainURL, Masked string
}

// Of returns the note of a text, to be changed.
func (t *Notes) Of(n *yamltree.Node) *Note {
	if t.Texts == nil {
		t.Texts = make(map[*yamltree.Node]*Note)
	}
	if t.Texts[n] == nil {
		t.Texts[n] = new(Note)
	}
	return t.Texts[n]
}

// Find returns the note of a text; an empty one if nothing was recorded.
func (t *Notes) Find(n *yamltree.Node) Note {
	if known := t.Texts[n]; known != nil {
		return *known
	}
	return Note{}
}

// PlainTexts returns the places of literal secrets other than URLs.
func (t *Notes) PlainTexts() (paths []string) {
	for _, known := range t.Texts {
		if known.Plain != "" {
			paths = append(paths, known.Plain)
		}
	}
	return paths
}

// PlaceNodes records the directory of a node and of its descendants from the same file.
func (t *Notes) PlaceNodes(n *yamltree.Node, document uint16, dir string) {
	if _, known := t.dirs[n]; known || n.Document != document {
		return
	}
	if t.dirs == nil {
		t.dirs = make(map[*yamltree.Node]string)
	}
	t.dirs[n] = dir
	for _, child := range n.Children {
		t.PlaceNodes(child, document, dir)
	}
}
