package config

import (
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// tree is the merged YAML tree of files, with the positions of its values and what decoding recorded
// about them.
type tree struct {
	documents []*sourceFile
	root      *yamltree.Node
	// origins records the effect of patches and extends.
	origins overlay.Origins
	// redactor hides the secrets of the files.
	redactor secret.Redactor
	// noted is what decoding recorded about texts.
	noted notedTexts
	// meant are the paths of fields that seem to be present under a misspelled name, so that they
	// are not reported missing too.
	meant map[string]bool
	// referred are the files that these files refer to.
	referred  map[string]struct{}
	spellings map[string][]string // other spellings in files, by field name
	index     map[*yamltree.Node]map[string]int
}

// fileNames returns the names of the files in the given order.
func (t *tree) fileNames() []string {
	names := make([]string, len(t.documents))
	for i, doc := range t.documents {
		names[i] = doc.Name
	}
	return names
}

// addReferredFile notes that the configuration refers to a file.
func (t *tree) addReferredFile(name string) {
	if name == "" {
		return
	}
	if t.referred == nil {
		t.referred = map[string]struct{}{}
	}
	t.referred[name] = struct{}{}
}

// dirOf returns the base directory of a node's relative paths.
func (t *tree) dirOf(n *yamltree.Node) string {
	if dir, ok := t.noted.dirs[n]; ok {
		return dir
	}
	return t.documents[n.Document].dir
}

func (t *tree) findRegistry(name string) *yamltree.Node {
	_, value := t.root.FindField(name)
	return value
}

func (t *tree) findEntry(registry, id string) *yamltree.Node {
	in := t.findRegistry(registry)
	if in == nil {
		return nil
	}
	_, value := t.findChild(in, id)
	return value
}
