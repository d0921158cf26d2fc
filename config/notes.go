package config

import "github.com/agentruntime/agentruntime/internal/yamltree"

// notedTexts is what decoding recorded about the files' texts, for Document.
type notedTexts struct {
	texts map[*yamltree.Node]*note
	// dirs are the base directories of nodes' paths, if their files do not determine them.
	dirs map[*yamltree.Node]string
}

// note is what decoding recorded about one text.
type note struct {
	// isPath is set for file paths, and isSecret for texts that may contain secrets.
	isPath, isSecret bool
	// prompt is the content of the prompt file that the text names, as a configuration text.
	prompt *string
	// plain is the path of a literal secret, plainURL the path of a URL with secrets, and masked the
	// path of a text that is stored but not shown. They are empty for other texts.
	plain, plainURL, masked string
}

// of returns the note of a text, to be changed.
func (t *notedTexts) of(n *yamltree.Node) *note {
	if t.texts == nil {
		t.texts = make(map[*yamltree.Node]*note)
	}
	if t.texts[n] == nil {
		t.texts[n] = new(note)
	}
	return t.texts[n]
}

// find returns the note of a text; an empty one if nothing was recorded.
func (t *notedTexts) find(n *yamltree.Node) note {
	if known := t.texts[n]; known != nil {
		return *known
	}
	return note{}
}

// plainTexts returns the places of literal secrets other than URLs.
func (t *notedTexts) plainTexts() (paths []string) {
	for _, known := range t.texts {
		if known.plain != "" {
			paths = append(paths, known.plain)
		}
	}
	return paths
}

// placeNodes records the directory of a node and of its descendants from the same file.
func (t *notedTexts) placeNodes(n *yamltree.Node, document uint16, dir string) {
	if _, known := t.dirs[n]; known || n.Document != document {
		return
	}
	if t.dirs == nil {
		t.dirs = make(map[*yamltree.Node]string)
	}
	t.dirs[n] = dir
	for _, child := range n.Children {
		t.placeNodes(child, document, dir)
	}
}
