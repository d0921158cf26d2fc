package local

import (
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// keepWhole keeps the whole of a result that was cut as an artifact, tells the
// model so, and returns the artifact's id.
func (t *turn) keepWhole(c *call, result *tools.Result) string {
	if result.Whole == "" {
		return ""
	}
	a := &backend.Artifact{
		ID:        t.messageID("a") + "/" + c.ID,
		Name:      c.Name + ".txt",
		MediaType: "text/plain; charset=utf-8",
		Data:      []byte(result.Whole),
	}
	note := fmt.Sprintf("\n[the whole output is kept as artifact %s]", a.ID)
	if err := t.host.KeepArtifact(a); err != nil {
		note, a.ID = fmt.Sprintf("\n[the whole output is lost: %v]", err), ""
	}
	result.Content = append(result.Content[:len(result.Content):len(result.Content)], model.Text(note))
	return a.ID
}
