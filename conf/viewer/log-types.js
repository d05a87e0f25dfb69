// The log types in the order of their numbers, as conf/log-types.tsv has them.

const members = 'categoryMembers';
const text = 'categoryText';
const voice = 'categoryVoice';
const server = 'categoryServer';
const roles = 'categoryRoles';
const channels = 'categoryChannels';
const service = 'categoryService';
const actions = 'categoryActions';
const modlog = 'categoryModlog';

const TYPES = [
    // made by util/types: rows
    [text, 'Attachment deleted',
        '{executor} deleted attachments[ of {target}][ in {channel}] '
        + '| Attachments[ of {target}] were deleted[ in {channel}]'],
    [members, 'Member joined',
        '{target} joined the server'],
    [members, 'Member left',
        '{target} left the server'],
    [text, 'Messages bulk deleted',
        '{executor} deleted several messages[ in {channel}][ '
        + '({count})] | Several messages were deleted[ in {channel}][ '
        + '({count})]'],
    [text, 'Thread message deleted',
        '{executor} deleted a message[ by {target}][ in {channel}] | '
        + 'A message[ by {target}] was deleted[ in {channel}]'],
    [text, 'Message deleted',
        '{executor} deleted a message[ by {target}][ in {channel}] | '
        + 'A message[ by {target}] was deleted[ in {channel}]'],
    [text, 'Thread message edited',
        '{executor} edited a message[ in {channel}] | A message[ by '
        + '{target}] was edited[ in {channel}]'],
    [text, 'Message edited',
        '{executor} edited a message[ in {channel}] | A message[ by '
        + '{target}] was edited[ in {channel}]'],
    [voice, 'Stream started',
        '{executor} started streaming[ in {channel}]'],
    [voice, 'Stream ended',
        '{executor} stopped streaming[ in {channel}]'],
    [text, 'Thread created',
        '{executor} created the thread {channel} | The thread '
        + '{channel} was created'],
    [text, 'Thread deleted',
        '{executor} deleted the thread {channel} | The thread '
        + '{channel} was deleted'],
    [voice, 'Camera turned on',
        '{executor} turned the camera on[ in {channel}]'],
    [voice, 'Camera turned off',
        '{executor} turned the camera off[ in {channel}]'],
    [voice, 'Member moved to another voice channel',
        '{executor} moved {target}[ from {name}][ to {channel}] | '
        + '{executor} moved members[ to {channel}][ ({count})] | '
        + '{target} was moved[ from {name}][ to {channel}]'],
    [voice, 'Member switched voice channel',
        '{executor} switched[ from {name}] to {channel}'],
    [voice, 'Member deafened',
        '{executor} deafened {target}[ in {channel}] | {target} was '
        + 'deafened[ in {channel}]'],
    [voice, 'Member joined voice channel',
        '{executor} joined {channel}'],
    [voice, 'Member left voice channel',
        '{executor} left {channel}'],
    [voice, 'Member muted',
        '{executor} muted {target}[ in {channel}] | {target} was '
        + 'muted[ in {channel}]'],
    [voice, 'Member undeafened',
        '{executor} undeafened {target}[ in {channel}] | {target} was '
        + 'undeafened[ in {channel}]'],
    [voice, 'Member unmuted',
        '{executor} unmuted {target}[ in {channel}] | {target} was '
        + 'unmuted[ in {channel}]'],
    [voice, 'Member disconnected from voice',
        '{executor} disconnected {target}[ from {channel}] | '
        + '{executor} disconnected members from voice[ ({count})] | '
        + '{target} was disconnected[ from {channel}]'],
    [actions, 'Invite created',
        '{executor} created the invite {name}[ to {channel}] | The '
        + 'invite {name}[ to {channel}] was created'],
    [actions, 'Invite deleted',
        '{executor} deleted the invite {name}[ to {channel}] | The '
        + 'invite {name}[ to {channel}] was deleted'],
    [members, 'Nickname changed',
        '{executor} changed the nickname of {target} | {executor} '
        + 'changed their nickname | The nickname of {target} was '
        + 'changed'],
    [members, 'Server avatar changed',
        '{target} changed their server avatar'],
    [channels, 'Channel created',
        '{executor} created the channel {channel} | The channel '
        + '{channel} was created'],
    [channels, 'Channel deleted',
        '{executor} deleted the channel {channel} | The channel '
        + '{channel} was deleted'],
    [channels, 'Channel changed',
        '{executor} changed the channel {channel} | The channel '
        + '{channel} was changed'],
    [server, 'Server changed',
        '{executor} changed the server settings | The server settings '
        + 'were changed'],
    [roles, 'Role created',
        '{executor} created the role {role} | The role {role} was '
        + 'created'],
    [roles, 'Role deleted',
        '{executor} deleted the role {role} | The role {role} was '
        + 'deleted'],
    [roles, 'Role changed',
        '{executor} changed the role {role} | The role {role} was '
        + 'changed'],
    [text, 'Message pinned',
        '{executor} pinned a message[ by {target}][ in {channel}] | A '
        + 'message[ by {target}] was pinned[ in {channel}]'],
    [text, 'Message unpinned',
        '{executor} unpinned a message[ by {target}][ in {channel}] | '
        + 'A message[ by {target}] was unpinned[ in {channel}]'],
    [actions, 'Emoji created',
        '{executor} created the emoji {emoji} | The emoji {emoji} was '
        + 'created'],
    [actions, 'Emoji deleted',
        '{executor} deleted the emoji {emoji} | The emoji {emoji} was '
        + 'deleted'],
    [actions, 'Emoji changed',
        '{executor} changed the emoji {emoji} | The emoji {emoji} was '
        + 'changed'],
    [modlog, 'Member banned',
        '{executor} banned {target} | {target} was banned'],
    [modlog, 'Member timed out',
        '{executor} timed out {target}[ until {until}] | {target} was '
        + 'timed out[ until {until}]'],
    [modlog, 'Member kicked',
        '{executor} kicked {target} | {target} was kicked'],
    [modlog, 'Timeout removed',
        '{executor} lifted the timeout of {target} | The timeout of '
        + '{target} was lifted'],
    [modlog, 'Member unbanned',
        '{executor} unbanned {target} | {target} was unbanned'],
    [members, 'Role given',
        '{executor} gave {target} the role {role} | {executor} gave '
        + '{target} roles | {target} was given the role {role} | '
        + '{target} was given roles'],
    [members, 'Role taken',
        '{executor} took the role {role} from {target} | {executor} '
        + 'took roles from {target} | {target} lost the role {role} | '
        + '{target} lost roles'],
    [members, 'Members pruned',
        '{executor} pruned inactive members[ ({count})] | Inactive '
        + 'members were pruned[ ({count})]'],
    [channels, 'Channel permissions added',
        '{executor} added permissions[ for {target}][ for the role '
        + '{role}][ in {channel}] | Permissions[ for {target}][ for the '
        + 'role {role}] were added[ in {channel}]'],
    [channels, 'Channel permissions removed',
        '{executor} removed permissions[ for {target}][ for the role '
        + '{role}][ in {channel}] | Permissions[ for {target}][ for the '
        + 'role {role}] were removed[ in {channel}]'],
    [channels, 'Channel permissions changed',
        '{executor} changed permissions[ for {target}][ for the role '
        + '{role}][ in {channel}] | Permissions[ for {target}][ for the '
        + 'role {role}] were changed[ in {channel}]'],
    [roles, 'Role permissions changed',
        '{executor} changed the permissions of the role {role} | The '
        + 'permissions of the role {role} were changed'],
    [text, 'Reaction removed',
        '{executor} removed the reaction {emoji}[ of {target}][ in '
        + '{channel}] | The reaction {emoji}[ of {target}] was removed[ '
        + 'in {channel}]'],
    [server, 'Server icon changed',
        '{executor} changed the server icon | The server icon was '
        + 'changed'],
    [roles, 'Role icon changed',
        '{executor} changed the icon of the role {role} | The icon of '
        + 'the role {role} was changed'],
    [voice, 'Voice channel status changed',
        '{executor} changed the status of {channel} | The status of '
        + '{channel} was changed'],
    [server, 'Server boosted',
        '{target} boosted the server'],
    [server, 'Boost removed',
        '{target} stopped boosting the server'],
    [members, 'Bot added',
        '{executor} added the bot {target} | The bot {target} was '
        + 'added'],
    [members, 'Bot removed',
        '{executor} removed the bot {target} | The bot {target} was '
        + 'removed'],
    [voice, 'Stage started',
        '{executor} started a stage[ in {channel}][: {name}] | A '
        + 'stage was started[ in {channel}][: {name}]'],
    [voice, 'Stage ended',
        '{executor} ended the stage[ in {channel}][: {name}] | The '
        + 'stage[ in {channel}] was ended[: {name}]'],
    [voice, 'Stage changed',
        '{executor} changed the stage[ in {channel}][: {name}] | The '
        + 'stage[ in {channel}] was changed[: {name}]'],
    [voice, 'Stage speaker started',
        '{executor} became a speaker[ in {channel}]'],
    [voice, 'Stage speaker invited',
        '{executor} invited {target} to speak[ in {channel}] | '
        + '{target} was invited to speak[ in {channel}]'],
    [voice, 'Stage speaker stopped',
        '{executor} stopped speaking[ in {channel}]'],
    [actions, 'Event created',
        '{executor} created the event {name} | The event {name} was '
        + 'created'],
    [actions, 'Event deleted',
        '{executor} deleted the event {name} | The event {name} was '
        + 'deleted'],
    [actions, 'Event changed',
        '{executor} changed the event {name} | The event {name} was '
        + 'changed'],
    [service, 'Log channel changed',
        '{executor} changed the log channels | The log channels were '
        + 'changed'],
    [service, 'Ignore options changed',
        '{executor} changed the ignore options | The ignore options '
        + 'were changed'],
    [service, 'Language changed',
        '{executor} changed the language | The language was changed'],
    [service, 'Token revoked',
        '{executor} revoked the token {name} | The token {name} was '
        + 'revoked'],
    [service, 'Token created',
        '{executor} created the token {name} | The token {name} was '
        + 'created'],
    [service, 'Tag deleted',
        '{executor} deleted the tag {name} | The tag {name} was '
        + 'deleted'],
    [service, 'Tag created',
        '{executor} created the tag {name} | The tag {name} was '
        + 'created'],
    [service, 'Tag changed',
        '{executor} changed the tag {name} | The tag {name} was '
        + 'changed'],
    [service, 'Logging options changed',
        '{executor} changed the logging options | The logging options '
        + 'were changed'],
    [service, 'Log type settings changed',
        '{executor} changed the settings of the log type {name} | The '
        + 'settings of the log type {name} were changed'],
    [service, 'Configuration reset',
        '{executor} reset the configuration | The configuration was '
        + 'reset'],
    [channels, 'Webhook created',
        '{executor} created the webhook {name}[ in {channel}] | The '
        + 'webhook {name} was created[ in {channel}]'],
    [channels, 'Webhook deleted',
        '{executor} deleted the webhook {name}[ in {channel}] | The '
        + 'webhook {name} was deleted[ in {channel}]'],
    [channels, 'Webhook changed',
        '{executor} changed the webhook {name}[ in {channel}] | The '
        + 'webhook {name} was changed[ in {channel}]'],
    [channels, 'Webhook avatar changed',
        '{executor} changed the avatar of the webhook {name} | The '
        + 'avatar of the webhook {name} was changed'],
    [channels, 'Announcement channel followed',
        '{executor} made {channel} follow {name} | {channel} follows '
        + '{name} now'],
    [channels, 'Announcement channel unfollowed',
        '{executor} made {channel} stop following {name} | {channel} '
        + 'no longer follows {name}'],
    [channels, 'Followed channel changed',
        '{executor} changed how {channel} follows {name} | It was '
        + 'changed how {channel} follows {name}'],
    [text, 'Poll deleted',
        '{executor} deleted a poll[ by {target}][ in {channel}] | A '
        + 'poll[ by {target}] was deleted[ in {channel}]'],
    [text, 'Thread changed',
        '{executor} changed the thread {channel} | The thread '
        + '{channel} was changed'],
    [voice, 'Voice events',
        'Several voice events[ of {executor}][ in {channel}][ '
        + '({count})]'],
    [server, 'Boost level changed',
        'The boost level of the server is {value} now | The boost '
        + 'level of the server changed'],
    [actions, 'Sticker created',
        '{executor} created the sticker {name} | The sticker {name} '
        + 'was created'],
    [actions, 'Sticker deleted',
        '{executor} deleted the sticker {name} | The sticker {name} '
        + 'was deleted'],
    [actions, 'Sticker changed',
        '{executor} changed the sticker {name} | The sticker {name} '
        + 'was changed'],
    [actions, 'Sound created',
        '{executor} added the sound {name} | The sound {name} was '
        + 'added'],
    [actions, 'Sound deleted',
        '{executor} deleted the sound {name} | The sound {name} was '
        + 'deleted'],
    [actions, 'Sound changed',
        '{executor} changed the sound {name} | The sound {name} was '
        + 'changed'],
    [server, 'Auto-moderation rule created',
        '{executor} created the auto-moderation rule {name} | The '
        + 'auto-moderation rule {name} was created'],
    [server, 'Auto-moderation rule deleted',
        '{executor} deleted the auto-moderation rule {name} | The '
        + 'auto-moderation rule {name} was deleted'],
    [server, 'Auto-moderation rule changed',
        '{executor} changed the auto-moderation rule {name} | The '
        + 'auto-moderation rule {name} was changed'],
    [service, 'Dashboard access changed',
        '{executor} changed the dashboard access of {target} | The '
        + 'dashboard access of {target} was changed'],
    [text, 'Reactions removed',
        '{executor} removed reactions[ of {target}][ in {channel}][ '
        + '({count})] | Reactions[ of {target}] were removed[ in '
        + '{channel}][ ({count})]'],
    [service, 'Automation rule acted',
        'The rule {name} acted[ on {target}][ in {channel}] | An '
        + 'automation rule acted[ on {target}][ in {channel}]'],
    // up to here
].map(([category, title, sentence], id) => ({id, category, title, sentence}));


export function typeOf(id) {
    return TYPES[id] ?? {id, category: service, title: `Log type ${id}`};
}


export function typesOf(category) {
    return TYPES.filter((type) => type.category === category);
}
