package local

import (
	"fmt"
	"strconv"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// keepWhole stores a truncated result's full content as an artifact, tells the model so, and
// returns the artifact's id.
func (t *turn) keepWhole(c *call, result *tools.Result) string {
	if result.Whole == "" {
		return ""
	}
	// Each call has a separate artifact, so none replaces another.
	id := t.job.TurnID + "/a" + strconv.Itoa(t.stats.Steps) + "/" + c.ID // with the mark: it is unique in the store
	note := fmt.Sprintf("\n[the whole output is kept as artifact %s]", id)
	_, err := t.host.Session().KeepArtifact(tools.Artifact{
		ID: id, Name: id + ".txt", MediaType: "text/plain; charset=utf-8", Data: []byte(result.Whole),
	})
	if err != nil {
		note, id = fmt.Sprintf("\n[the whole output is lost: %v]", err), ""
	}
	t.host.FlushSession()
	result.Content = append(result.Content[:len(result.Content):len(result.Content)], model.Text(note))
	return id
}
