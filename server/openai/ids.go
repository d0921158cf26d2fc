package openai

import (
	"strconv"
	"strings"
)

// What ids begin with. The id of a turn is that of its first response or completion; the
// responses after it have the number of their segment, and items that of the item.
const (
	chatPrefix         = "chatcmpl-"
	responsePrefix     = "resp_"
	conversationPrefix = "conv_"

	callPrefix     = "call_"
	messagePrefix  = "msg_"
	thoughtPrefix  = "rs_"
	functionPrefix = "fc_"
	toolPrefix     = "mcp_"
	approvalPrefix = "mcpr_"
	outputPrefix   = "fco_"
)

// answerID returns the id of the response or completion that a segment of a turn is.
func answerID(turnID string, segment int) string {
	if segment == 0 {
		return turnID
	}
	return turnID + "_" + strconv.Itoa(segment)
}

// splitAnswerID returns the turn and the segment of a response; false for another id.
func splitAnswerID(id string) (turnID string, segment int, ok bool) {
	rest, ok := strings.CutPrefix(id, responsePrefix)
	if !ok {
		return "", 0, false
	}
	core, number, later := strings.Cut(rest, "_")
	if !later {
		return id, 0, core != ""
	}
	segment, err := strconv.Atoi(number)
	return responsePrefix + core, segment, err == nil && segment > 0 && core != ""
}

// coreOf returns the part of the id of a turn that the ids of its items repeat.
func coreOf(turnID string) string {
	return strings.TrimPrefix(strings.TrimPrefix(turnID, chatPrefix), responsePrefix)
}

func itemID(prefix, core string, number int) string {
	return prefix + core + "_" + strconv.Itoa(number)
}

// splitItemID returns the core and the number in the id of an item or a call; empty for
// another id.
func splitItemID(id string) (core, number string) {
	_, rest, _ := strings.Cut(id, "_")
	core, number, _ = strings.Cut(rest, "_")
	return core, number
}
