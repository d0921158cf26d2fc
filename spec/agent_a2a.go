package spec

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
)

// The values of AgentA2A.Reply.
const (
	ReplyTask    = "task"
	ReplyMessage = "message"
)

// The limits of skills.
const (
	maxSkills    = 64
	maxSkillText = 2000
)

// AgentA2A configures how an agent appears to other runtimes over A2A.
type AgentA2A struct {
	Reply            string       `json:"reply,omitempty" enum:"task|message" default:"task" doc:"The response to a request for a new turn: a task, or message for the answer alone if the caller waits and the turn succeeds without questions and artifacts. Otherwise it is a task."`
	DocumentationURL string       `json:"documentation_url,omitempty" doc:"The URL of the agent's documentation: http or https, without secrets. It is on the public card."`
	Skills           []AgentSkill `json:"skills,omitempty" doc:"The skills on the agent's card. Defaults to one skill, the agent itself."`
}

// AgentSkill is something that an agent can do, described for those searching for an agent.
type AgentSkill struct {
	ID          string   `json:"id" required:"true" doc:"The skill's id, unique within the agent."`
	Name        string   `json:"name,omitempty" doc:"The skill's name. Defaults to the id."`
	Description string   `json:"description" required:"true" doc:"A description of the skill."`
	Tags        []string `json:"tags" required:"true" doc:"Keywords for finding the skill."`
	Examples    []string `json:"examples,omitempty" doc:"Example prompts for the skill."`
}

// RepliesWithMessage reports whether requests are answered with a message if possible.
func (a *Agent) RepliesWithMessage() bool { return a.A2A != nil && a.A2A.Reply == ReplyMessage }

// Validate checks the record by itself. Paths are relative to it.
func (a *AgentA2A) Validate() diag.List {
	list := checkChoice("reply", a.Reply, ReplyTask, ReplyMessage)
	list = append(list, check.PublicURL("documentation_url", a.DocumentationURL)...)
	if len(a.Skills) > maxSkills {
		list = append(list, diag.New(diag.InvalidValue, "skills", "there are %d skills; at most %d are allowed", len(a.Skills), maxSkills))
	}
	seen := make(map[string]bool)
	for i := range a.Skills {
		path := diag.Index("skills", i)
		list = append(list, check.Within(path, a.Skills[i].validate())...)
		if id := a.Skills[i].ID; id != "" && seen[id] {
			list = append(list, diag.New(diag.DuplicateID, diag.Join(path, "id"), "skill %q is there twice", id))
		}
		seen[a.Skills[i].ID] = true
	}
	return list
}

func (s *AgentSkill) validate() diag.List {
	list := append(check.Required("id", s.ID), check.Required("description", s.Description)...)
	switch {
	case s.Tags == nil:
		list = append(list, diag.New(diag.MissingField, "tags", "tags is required").WithHint("name at least one, such as [billing]"))
	case len(s.Tags) == 0:
		list = append(list, diag.New(diag.InvalidValue, "tags", "tags is empty").WithHint("name at least one, such as [billing]"))
	}
	for name, text := range map[string]string{"id": s.ID, "name": s.Name, "description": s.Description} {
		if len(text) > maxSkillText {
			list = append(list, diag.New(diag.InvalidValue, name, "%s has %d bytes; at most %d are allowed", name, len(text), maxSkillText))
		}
	}
	for name, texts := range map[string][]string{"tags": s.Tags, "examples": s.Examples} {
		for i, text := range texts {
			if text == "" || len(text) > maxSkillText {
				list = append(list, diag.New(diag.InvalidValue, diag.Index(name, i), "it must have from 1 to %d bytes", maxSkillText))
			}
		}
	}
	return list
}
