package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/slack-go/slack"
)

// slackEvent is the type of the metadata by which a message is found again: Slack has no ids of messages to take once, but
// shows an app the metadata that it posted.
const slackEvent = "holdpoint_notice"

// Bounds of looking for a message that may have been posted: from a while before the first attempt, for machines' clocks
// differ, the newest first.
const (
	slackSkew  = 10 * time.Minute
	slackPage  = 200
	slackPages = 10
)

// unreadable are Slack's answers where the app may not read the channel, which takes channels:history or groups:history.
var unreadable = []string{"missing_scope", "not_in_channel", "no_permission", "channel_not_found", "not_allowed_token_type"}

// posted reports whether an earlier attempt, of whose end nobody knows, has posted the message. It is false as well where the
// app may not read the channel: a question that stands there twice is less than one that nobody sees.
func (s *Slack) posted(ctx context.Context, m Message) (bool, error) {
	from := strconv.FormatInt(m.Begun.Add(-slackSkew).Unix(), 10)
	p := slack.GetConversationHistoryParameters{ChannelID: s.c.Channel, Oldest: from, Limit: slackPage, IncludeAllMetadata: true}
	for range slackPages {
		page, err := s.client.GetConversationHistoryContext(ctx, &p)
		var refused slack.SlackErrorResponse
		if errors.As(err, &refused) && slices.Contains(unreadable, refused.Err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("whether it was posted before could not be seen: %w", hidden(err))
		}
		for _, one := range page.Messages {
			if one.Metadata.EventType == slackEvent && one.Metadata.EventPayload["id"] == m.ID {
				return true, nil
			}
		}
		if p.Cursor = page.ResponseMetaData.NextCursor; !page.HasMore || p.Cursor == "" {
			return false, nil
		}
	}
	return false, nil
}
