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
