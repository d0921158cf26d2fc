package openai

import (
	"net/http"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/spec"
)

// modelList is the body of the list of models.
type modelList struct {
	Object string      `json:"object"`
	Data   []modelView `json:"data"`
}

// modelView shows an agent as a model.
type modelView struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	Name    string `json:"name,omitempty"`
}

func viewModel(id string, agent *spec.Agent) modelView {
	return modelView{ID: id, Object: "model", OwnedBy: "agentruntime", Name: agent.Description}
}

// listModels answers with the agents that the key may use.
func (c *call) listModels() error {
	list := modelList{Object: "list", Data: []modelView{}}
	for id, agent := range c.settings.Service.Catalog(c.r.Context(), c.caller).Agents() {
		list.Data = append(list.Data, viewModel(id, agent))
	}
	return server.WriteJSON(c.w, http.StatusOK, list)
}

func (c *call) readModel() error {
	id := c.r.PathValue("model")
	agent, err := c.settings.Service.Catalog(c.r.Context(), c.caller).Agent(id)
	if err != nil {
		return unknownModel(id)
	}
	return server.WriteJSON(c.w, http.StatusOK, viewModel(id, agent))
}
