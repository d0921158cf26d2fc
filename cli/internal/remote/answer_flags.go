package remote

import (
	"fmt"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/question"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/spf13/cobra"
)

// AnswerFlags are the flags of commands that answer an interaction.
type AnswerFlags struct {
	approve, refuse bool
	result, reason  string
}

// AddFlags adds the flags for an answer.
func (o *AnswerFlags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.approve, "approve", false, "allow the call once")
	cmd.Flags().BoolVar(&o.refuse, "refuse", false, "reject the call, and tell the model")
	cmd.Flags().StringVar(&o.result, "result", "", "answer as JSON or text")
	cmd.Flags().StringVar(&o.reason, "reason", "", "reason to show to the model")
	command.AllowEmpty(cmd, "result")
	command.AllowEmpty(cmd, "reason")
}

// Check checks that the flags give exactly one answer.
func (o *AnswerFlags) Check(cmd *cobra.Command) error {
	given := 0
	for _, one := range []bool{o.approve, o.refuse, o.result != ""} {
		if one {
			given++
		}
	}
	if given != 1 {
		return command.Usagef(cmd, "one of --approve, --refuse and --result must be given")
	}
	return nil
}

// Answer returns the answer to a question from the flags.
func (o *AnswerFlags) Answer(q *interaction.Request) (interaction.Answer, error) {
	asked := question.PermissionOf(q.Action, q.Parameters, q.ResponseSchema)
	r := interaction.Answer{Target: q.ID, Action: interaction.Resume, Reason: o.reason}
	switch {
	case asked != nil && o.result == "":
		r.Result = asked.Answer(q, o.approve, question.ScopeOnce).Result
	case o.refuse:
		r.Action = interaction.Cancel
	case o.approve:
		return r, fmt.Errorf("interaction %s asks for an answer, not for a permission: use --result", q.ID)
	default:
		r.Result = question.AsJSON(o.result)
	}
	return r, nil
}
