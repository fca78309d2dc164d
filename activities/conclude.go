package activities

import (
	"fmt"
	"strings"

	"holdpoint/event"
	"holdpoint/llm"
)

// A reply that calls no tool is the run's answer, if it is one. Providers end replies that are none: with no words, as after
// a tool's result or when all tokens went into thinking; cut at a limit; paused, to be asked to go on; declined by a filter
// without a word. A run never completes with nothing, and without a sign that its answer is not whole.

// maxAgain bounds how often in a row a model is asked again that answered with nothing.
const maxAgain = 2

// Codes of a run that has no answer, and of the events before.
const (
	CodeNoAnswer    = "no_answer"
	CodeRefused     = "refused"
	codeEmptyAnswer = "empty_answer"
	codeCutOff      = "answer_cut_off"
)

// conclude says whether a turn without calls ends the run, and how.
func (w *turnWriter) conclude(reply llm.Reply, out *CallModelResult) error {
	if !out.Final || out.Stopped != nil {
		return nil
	}
	said := strings.TrimSpace(reply.Message.Content) != ""
	if reply.Message.Refusal && !said {
		out.Final, out.Stopped = false, &Stopped{Code: CodeRefused, Message: "the model, or its provider's filter, declined to answer and did not say why"}
		return nil
	}
	var before CallModelResult
	if _, err := readTurn(w.ctx, w.tx, w.in.RunID, w.in.Turn-1, &before); err != nil {
		return err
	}
	again := before.Again + 1
	switch {
	case said && reply.Paused && again <= maxAgain:
		w.say(codeCutOff, "The provider paused the model's answer. It is asked to go on.")
	case said && reply.Truncated:
		w.say(codeCutOff, "The model's answer was cut off, as at its token limit: what the run ended with is not whole.")
		return nil
	case said:
		return nil
	case again > maxAgain:
		out.Stopped = &Stopped{Code: CodeNoAnswer, Message: fmt.Sprintf("the model answered with nothing %d times in a row%s", again, whyEmpty(reply))}
	default:
		w.say(codeEmptyAnswer, "The model answered with nothing"+whyEmpty(reply)+". It is asked again.")
	}
	out.Final, out.Again = false, again
	return nil
}

func (w *turnWriter) say(code, message string) {
	w.emit(event.Error, event.ErrorData{Code: code, Message: message})
}

func whyEmpty(reply llm.Reply) string {
	if reply.Truncated {
		return ": its tokens were used up before it said anything"
	}
	return ""
}

// goOn asks a model to go on whose last reply was none: it is that reply after which no one has said anything. The words are
// in no transcript, as nobody said them.
func goOn(messages []llm.Message) []llm.Message {
	n := len(messages)
	if n == 0 || messages[n-1].Role != llm.RoleAssistant || len(messages[n-1].ToolCalls) > 0 {
		return messages
	}
	words := "Your last answer was empty. Go on with the task, or say what came of it."
	if strings.TrimSpace(messages[n-1].Content) != "" {
		words = "Your last answer was cut off. Go on where it ends."
	}
	return append(messages, llm.Message{Role: llm.RoleUser, Content: words})
}
